// Decimal numbers as text, for amounts of money: binary floating point does not represent most of them.

/** Digits after the decimal point of an amount in US dollars: nano-dollars. */
export const DOLLAR_DECIMALS = 9;
const NANOS_PER_DOLLAR = 1e9;
const MIN_DECIMALS = 2;

/** Of a number below 10⁻⁶: sign, digits, and the position of the first digit after the decimal point. */
const SMALL = /^(-?)(\d)(?:\.(\d+))?e-(\d+)$/;

/**
 * Returns a number as decimal text, with all its digits; one from 10²¹ on has an exponent. The shortest text of a number is what the operator
 * wrote.
 */
export function decimalOf(value: number): string {
  const text = String(value);
  const [, sign = "", first, others = "", position = ""] = SMALL.exec(text) ?? [];
  return first === undefined ? text : `${sign}0.${"0".repeat(Number(position) - 1)}${first}${others}`;
}

/** Returns an amount in US dollars in nano-dollars. Reads the digits: 0.1 × 10⁹ is not exact for all decimals. */
export function nanosOf(dollars: string): number {
  const [whole = "", fraction = ""] = dollars.split(".");
  return Number(whole + fraction.slice(0, DOLLAR_DECIMALS).padEnd(DOLLAR_DECIMALS, "0"));
}

/** Returns nano-dollars as a decimal with at least two digits after the point: `12.34`, `0.000000001`. */
export function dollarsOf(nanos: number): string {
  const amount = Math.abs(nanos);
  // A remainder of integers of 32 bits takes a fraction of the time of one of larger numbers. The quotient may be rounded up.
  let whole = Math.floor(amount / NANOS_PER_DOLLAR);
  if (whole * NANOS_PER_DOLLAR > amount) whole--;
  let fraction = (amount - whole * NANOS_PER_DOLLAR) | 0;
  let decimals = DOLLAR_DECIMALS;
  for (; decimals > MIN_DECIMALS && fraction % 10 === 0; decimals--) fraction = (fraction / 10) | 0;
  return `${nanos < 0 ? "-" : ""}${whole}.${String(fraction).padStart(decimals, "0")}`;
}
