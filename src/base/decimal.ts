// Decimal numbers as text, for amounts of money: binary floating point does not represent most of them.

/** Digits after the decimal point of an amount in US dollars: nano-dollars. */
export const DOLLAR_DECIMALS = 9;

/** Returns a number as decimal text without an exponent. The shortest text of a number is what the operator wrote. */
export function decimalOf(value: number): string {
  const text = String(value);
  return text.includes("e-") ? value.toFixed(DOLLAR_DECIMALS) : text;
}

/** Returns an amount in US dollars in nano-dollars. Reads the digits: 0.1 × 10⁹ is not exact for all decimals. */
export function nanosOf(dollars: string): number {
  const [whole = "", fraction = ""] = dollars.split(".");
  return Number(whole + fraction.slice(0, DOLLAR_DECIMALS).padEnd(DOLLAR_DECIMALS, "0"));
}

/** Returns nano-dollars as a decimal with at least two digits after the point: `12.34`, `0.000000001`. */
export function dollarsOf(nanos: number): string {
  const digits = String(Math.abs(nanos)).padStart(DOLLAR_DECIMALS + 1, "0");
  const fraction = digits.slice(-DOLLAR_DECIMALS).replace(/0{1,7}$/, "");
  return `${nanos < 0 ? "-" : ""}${digits.slice(0, -DOLLAR_DECIMALS)}.${fraction}`;
}
