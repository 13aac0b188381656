import { expect, test } from "bun:test";
import { formatAmount, formatUnits, parseAmount, percentOf } from "./amounts.ts";

test("dollars are exact to the nano-dollar, also where floating point is not", () => {
  const sum = (parseAmount("usd", "0.1") ?? 0n) + (parseAmount("usd", "0.2") ?? 0n);
  expect(formatUnits("usd", sum)).toBe("$0.30");
  expect(formatAmount("usd", "999999.999999999")).toBe("$999,999.999999999");
  expect(formatUnits("usd", parseAmount("usd", "-0.005") ?? 0n)).toBe("-$0.005");
  expect(formatAmount("usd", "25")).toBe("$25.00");
});

test("tokens are whole numbers", () => {
  expect(formatAmount("tokens", 1_234_567)).toBe("1,234,567 tokens");
  expect(formatAmount("tokens", 1)).toBe("1 token");
  expect(parseAmount("tokens", "1.5")).toBeNull();
});

test("text that is no amount is null", () => {
  for (const text of ["", "-", "1,5", "$1", "1e3", "0.1234567891"])
    expect(parseAmount("usd", text)).toBeNull();
});

test("a share is between 0 and 100", () => {
  expect(percentOf("usd", "0.80", "1.00")).toBe(80);
  expect(percentOf("usd", "3", "1.00")).toBe(100);
  expect(percentOf("tokens", 1, 3)).toBe(33.3);
  expect(percentOf("usd", "0.00", "0")).toBe(0);
  expect(percentOf("usd", "0.01", "0")).toBe(100);
});
