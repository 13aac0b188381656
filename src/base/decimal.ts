// Decimal numbers as text, for amounts of money: binary floating point does not represent most of them.

/** Digits after the decimal point of an amount in US dollars: nano-dollars. */
export const DOLLAR_DECIMALS = 9;

/** Returns a number as decimal text without an exponent. The shortest text of a number is what the operator wrote. */
export function decimalOf(value: number): string {
  const text = String(value);
  return text.includes("e-") ? value.toFixed(DOLLAR_DECIMALS) : text;
}
