// Amounts of budgets. Dollars are decimal strings and are computed as a whole number of nano-dollars, never in floating point.
import type { Budget } from "../api/types.ts";

type Unit = Budget["unit"];

const DECIMALS = 9;
const AMOUNT = /^(-?)(\d+)(?:\.(\d{1,9}))?$/;
const tokens = new Intl.NumberFormat();

/** Returns an amount in nano-dollars or tokens; null if the text is not a valid amount of the unit. */
export function parseAmount(unit: Unit, amount: string | number): bigint | null {
  const [, sign, whole = "", fraction = ""] = AMOUNT.exec(String(amount).trim()) ?? [];
  if (sign === undefined || (unit === "tokens" && fraction !== "")) return null;
  const size = unit === "usd" ? BigInt(whole + fraction.padEnd(DECIMALS, "0")) : BigInt(whole);
  return sign === "-" ? -size : size;
}

/** Formats nano-dollars with at least two decimals, or tokens: `$12.34`, `-$0.005`, `1,200 tokens`. */
export function formatUnits(unit: Unit, units: bigint): string {
  if (unit === "tokens") return `${tokens.format(units)} ${units === 1n ? "token" : "tokens"}`;
  const digits = String(units < 0n ? -units : units).padStart(DECIMALS + 1, "0");
  const fraction = digits.slice(-DECIMALS).replace(/0{1,7}$/, "");
  return `${units < 0n ? "-" : ""}$${tokens.format(BigInt(digits.slice(0, -DECIMALS)))}.${fraction}`;
}

/** Formats an amount as the API returns it. */
export function formatAmount(unit: Unit, amount: string | number): string {
  const units = parseAmount(unit, amount);
  return units === null ? String(amount) : formatUnits(unit, units);
}

/** Returns `part` of `whole` in percent, rounded down to one decimal and at most 100. For bars, not for amounts. */
export function percentOf(unit: Unit, part: string | number, whole: string | number): number {
  const [some, all] = [parseAmount(unit, part) ?? 0n, parseAmount(unit, whole) ?? 0n];
  if (all <= 0n) return some > 0n ? 100 : 0;
  const permille = (some * 1000n) / all;
  return Number(permille > 1000n ? 1000n : permille) / 10;
}
