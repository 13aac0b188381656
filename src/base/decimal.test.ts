import { expect, test } from "bun:test";
import fc from "fast-check";
import { decimalOf, dollarsOf, nanosOf } from "./decimal.ts";

/** The oracle: works on the digits. */
function dollarsOfDigits(nanos: number): string {
  const digits = String(Math.abs(nanos)).padStart(10, "0");
  const fraction = digits.slice(-9).replace(/0{1,7}$/, "");
  return `${nanos < 0 ? "-" : ""}${digits.slice(0, -9)}.${fraction}`;
}

test.each([
  [0, "0.00"],
  [1, "0.000000001"],
  [-10_000_000, "-0.01"],
  [12_340_000_000, "12.34"],
  [100_000_000_000, "100.00"],
  [Number.MAX_SAFE_INTEGER, "9007199.254740991"],
])("%d nano-dollars are %s dollars", (nanos, dollars) => {
  expect(dollarsOf(nanos)).toBe(dollars);
});

test("every amount has the text of its digits, and is read back from it", () => {
  const amount = fc.oneof(
    fc.maxSafeInteger(),
    fc.tuple(fc.nat(1_000_000), fc.nat(9)).map(([digits, zeros]) => digits * 10 ** zeros),
  );
  fc.assert(
    fc.property(amount, (nanos) => {
      expect(dollarsOf(nanos)).toBe(dollarsOfDigits(nanos));
      expect(nanosOf(dollarsOf(Math.abs(nanos)))).toBe(Math.abs(nanos));
    }),
    { numRuns: 1000 },
  );
});

test.each([
  [2.5, "2.5"],
  [1e-6, "0.000001"],
  [1e-9, "0.000000001"],
  [1e-10, "0.0000000001"],
  [-1.5e-9, "-0.0000000015"],
  [123.45, "123.45"],
])("the number %p has the digits of %s, however small it is", (value, text) => {
  expect(decimalOf(value)).toBe(text);
  expect(Number(decimalOf(value))).toBe(value);
});
