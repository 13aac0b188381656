// Compares what the gateway counted with what a provider reports, per day and model.
import type { DayUsage } from "./usage-export.ts";

type ComparedCount = "requests" | "input" | "output" | "cost";
export const COMPARED: readonly ComparedCount[] = ["requests", "input", "output", "cost"];

export interface Comparison {
  /** Null: the cost of models without a price is unknown, not 0. */
  readonly ours: number | null;
  readonly theirs: number;
  /** Percent of the provider's number; null if that is 0 or ours is unknown. */
  readonly percent: number | null;
  readonly isEqual: boolean;
}

/** A day and a model, or the total. Null where one of both does not say. */
export interface ComparedUsage {
  readonly day: string;
  readonly model: string;
  readonly counts: Readonly<Record<ComparedCount, Comparison | null>>;
  readonly isEqual: boolean;
}

/** Snapshots such as gpt-4o-2024-08-06, claude-sonnet-4-5-20250929, or claude-sonnet-4-5@20250929. */
const SNAPSHOT = /[-@](?:\d{4}-\d\d-\d\d|\d{8})$/;

type Sums = Record<ComparedCount, number | null>;

/**
 * `tolerance` is in percent of the provider's number. Providers report the snapshot of a model that a request named by its alias, so
 * both are compared without the date unless `isExact`.
 */
export function compareUsage(
  ours: readonly DayUsage[],
  theirs: readonly DayUsage[],
  tolerance: number,
  isExact: boolean,
): { readonly rows: readonly ComparedUsage[]; readonly total: ComparedUsage } {
  const nameOf = (model: string) => (isExact ? model : model.replace(SNAPSHOT, ""));
  const [ourSums, theirSums] = [sumsOf(ours, nameOf), sumsOf(theirs, nameOf)];
  const keys = [...new Set([...ourSums.keys(), ...theirSums.keys()])].sort();
  // A column that the file does not have is not compared on days that only the gateway has either.
  const hasCount = (name: ComparedCount) => theirs.some((row) => row[name] !== null);
  const compare = (
    day: string,
    model: string,
    our: Sums | undefined,
    their: Sums | undefined,
  ): ComparedUsage => {
    const counts = Object.fromEntries(
      COMPARED.map((name) => [
        name,
        hasCount(name) ? comparison(our === undefined ? 0 : our[name], their?.[name] ?? 0, tolerance) : null,
      ]),
    ) as Record<ComparedCount, Comparison | null>;
    return { day, model, counts, isEqual: COMPARED.every((name) => counts[name]?.isEqual !== false) };
  };
  const rows = keys.map((key) => {
    const [day = "", model = ""] = key.split("\n");
    return compare(day, model, ourSums.get(key), theirSums.get(key));
  });
  return { rows, total: compare("", "", totalOf(ourSums), totalOf(theirSums)) };
}

function comparison(ours: number | null, theirs: number, tolerance: number): Comparison {
  if (ours === null) return { ours, theirs, percent: null, isEqual: false };
  const difference = ours - theirs;
  const percent = theirs === 0 ? null : (100 * difference) / theirs;
  // Costs are sums of decimals as floating point numbers.
  const isEqual = Math.abs(difference) <= (Math.abs(theirs) * tolerance) / 100 + 1e-9;
  return { ours, theirs, percent, isEqual };
}

function sumsOf(rows: readonly DayUsage[], nameOf: (model: string) => string): Map<string, Sums> {
  const sums = new Map<string, Sums>();
  for (const row of rows) {
    const key = `${row.day}\n${nameOf(row.model)}`;
    sums.set(key, plus(sums.get(key), row));
  }
  return sums;
}

function totalOf(sums: ReadonlyMap<string, Sums>): Sums | undefined {
  let total: Sums | undefined;
  for (const each of sums.values()) total = plus(total, each);
  return total;
}

function plus(sums: Sums | undefined, row: Sums): Sums {
  const add = (name: ComparedCount) => {
    const [before, more] = [sums?.[name] ?? null, row[name]];
    return before === null && more === null ? null : (before ?? 0) + (more ?? 0);
  };
  return { requests: add("requests"), input: add("input"), output: add("output"), cost: add("cost") };
}
