// Numbers as JSON texts write them: a double would round long ones, and a condition would be matched with another number.

/** Longer numbers are not compared. */
const MAX_CHARACTERS = 1000;
/** Numbers of up to 15 digits are exact if a double represents them. */
const SHORT = /^-?\d{1,15}$/;
const JSON_NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** A number that a double cannot represent. */
export class ExactNumber {
  readonly decimal: Decimal;

  constructor(decimal: Decimal) {
    this.decimal = decimal;
  }
}

/** `digits` × 10^`exponent`; `digits` has no zero at its end unless the number is zero. */
interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

/** Returns null for a number that is too long to be compared. */
export function readNumber(source: string): number | ExactNumber | null {
  if (SHORT.test(source)) return Number(source);
  const decimal = decimalOf(source);
  if (decimal === null) return null;
  const rounded = Number(source);
  const ofRounded = Number.isFinite(rounded) ? decimalOf(String(rounded)) : null;
  const isExact = ofRounded?.digits === decimal.digits && ofRounded.exponent === decimal.exponent;
  return isExact ? rounded : new ExactNumber(decimal);
}

/** Returns a negative number if `a` is smaller than `b`, 0 if both are equal, else a positive one. */
export function compareNumbers(a: number | ExactNumber, b: number | ExactNumber): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  const [left, right] = [toDecimal(a), toDecimal(b)];
  const [sign, otherSign] = [signOf(left.digits), signOf(right.digits)];
  if (sign !== otherSign || sign === 0) return sign - otherSign;
  const magnitude = lengthOf(left) + left.exponent - lengthOf(right) - right.exponent;
  if (magnitude !== 0) return sign * magnitude;
  // Both have the same number of digits before the point, so that the exponents differ by no more than the digits.
  const exponent = Math.min(left.exponent, right.exponent);
  const difference = scaled(left, exponent) - scaled(right, exponent);
  return signOf(difference);
}

/** `divisor` is above 0. */
export function isMultipleOf(number: number | ExactNumber, divisor: number): boolean {
  const [a, b] = [toDecimal(number), toDecimal(divisor)];
  if (a.digits === 0n) return true;
  const exponent = a.exponent - b.exponent;
  if (exponent >= 0) return ((a.digits % b.digits) * powerOfTen(exponent, b.digits)) % b.digits === 0n;
  return -exponent <= lengthOf(a) && a.digits % (b.digits * 10n ** BigInt(-exponent)) === 0n;
}

export function isInteger(number: number | ExactNumber): boolean {
  return typeof number === "number" ? Number.isInteger(number) : number.decimal.exponent >= 0;
}

/** Returns a text that is the same for equal numbers only. */
export function canonicalNumber(number: number | ExactNumber): string {
  if (typeof number === "number") return String(number === 0 ? 0 : number);
  return `${number.decimal.digits}e${number.decimal.exponent}`;
}

function toDecimal(number: number | ExactNumber): Decimal {
  return (
    (typeof number === "number" ? decimalOf(String(number)) : number.decimal) ?? { digits: 0n, exponent: 0 }
  );
}

function decimalOf(source: string): Decimal | null {
  if (source.length > MAX_CHARACTERS) return null;
  const [, sign = "", whole = "", fraction = "", power = "0"] = JSON_NUMBER.exec(source) ?? [];
  const exponent = Number(power);
  if (whole === "" || !Number.isSafeInteger(exponent)) return null;
  const written = whole + fraction;
  const digits = written.replace(/0+$/, "");
  if (/^0*$/.test(digits)) return { digits: 0n, exponent: 0 };
  return {
    digits: BigInt(sign + digits),
    exponent: exponent - fraction.length + written.length - digits.length,
  };
}

function lengthOf({ digits }: Decimal): number {
  return String(digits < 0n ? -digits : digits).length;
}

function scaled({ digits, exponent }: Decimal, to: number): bigint {
  return digits * 10n ** BigInt(exponent - to);
}

function signOf(number: bigint): number {
  return number === 0n ? 0 : number < 0n ? -1 : 1;
}

/** Returns the remainder of 10^`exponent`, whatever the size of the exponent. */
function powerOfTen(exponent: number, modulus: bigint): bigint {
  let [result, base] = [1n % modulus, 10n % modulus];
  for (let rest = exponent; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = (result * base) % modulus;
    base = (base * base) % modulus;
  }
  return result;
}
