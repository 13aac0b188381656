// Reads the values of keywords, and what conditions are matched with.
import { canonicalNumber, ExactNumber, isInteger } from "./exact-number.ts";

/** The value takes too much work to check, or cannot be checked. */
export class Undecidable extends Error {
  override readonly name = "Undecidable";
}

/** What a check may still spend. */
export interface Work {
  steps: number;
  depth: number;
}

export function isOfType(value: unknown, type: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "number":
      return isNumber(value);
    case "integer":
      return isNumber(value) && isInteger(value);
    default:
      return typeof value === type;
  }
}

/** Returns a text that is the same for equal values only. */
export function canonical(value: unknown, work: Work | null): string {
  spend(work, 1);
  if (isNumber(value)) return canonicalNumber(value);
  if (Array.isArray(value)) return `[${value.map((each) => canonical(each, work)).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key], work)}`);
  return `{${members.join(",")}}`;
}

export function spend(work: Work | null, steps: number): void {
  if (work !== null && (work.steps -= steps) < 0) throw new Undecidable("too many steps");
}

/** In code points, as JSON Schema counts. */
export function lengthOf(value: unknown): number | null {
  return typeof value === "string" ? Array.from(value).length : null;
}

export function isNumber(value: unknown): value is number | ExactNumber {
  return typeof value === "number" || value instanceof ExactNumber;
}

export function numberOf(value: unknown): number {
  if (typeof value !== "number") throw new Error("must be a number");
  requireExactNumbers(value);
  return value;
}

export function countOf(value: unknown): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
    throw new Error("must be a whole number that is not negative");
  return value;
}

/** Above 2^53 a number of the configuration may already be rounded. */
export function requireExactNumbers(value: unknown): void {
  if (typeof value === "number" && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER))
    throw new Error(`must not contain numbers beyond ±${Number.MAX_SAFE_INTEGER}: they are not exact`);
  if (typeof value === "object" && value !== null) Object.values(value).forEach(requireExactNumbers);
}

export function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error("must be a list");
  return value;
}

export function schemasOf(value: unknown): readonly unknown[] {
  const list = listOf(value);
  if (list.length === 0) throw new Error("must be a list that is not empty");
  return list;
}

export function namesOf(value: unknown): readonly string[] {
  const names = listOf(value).map((name) => {
    if (typeof name !== "string") throw new Error("must be a list of names");
    return name;
  });
  if (new Set(names).size < names.length) throw new Error("must not contain a name twice");
  return names;
}

export function entriesOf(value: unknown): [string, unknown][] {
  if (!isObject(value)) throw new Error("must be an object");
  return Object.entries(value);
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  );
}

export function requireType(value: unknown, type: "string" | "boolean"): void {
  if (typeof value !== type) throw new Error(`must be a ${type}`);
}
