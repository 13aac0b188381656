// Rows of the tables of what budgets have spent.
import { MAX_AMOUNT, type BudgetTarget } from "../ledger/ledger.ts";
import type { JournalChange } from "../ledger/spent-journal.ts";
import type { Parameter, Query, Row } from "./database.ts";

/** Keeps the number of parameters of a statement below the limits of the databases. */
const ROWS_PER_STATEMENT = 200;

export type Spent = Pick<JournalChange, "budget" | "spentChange">;

/** What was spent stays from 0 to MAX_AMOUNT. No budget and period may occur twice. */
export async function spend(query: Query, changes: readonly Spent[]): Promise<void> {
  for (const part of partsOf(changes)) {
    const insert = `INSERT INTO spending (budget, period, ends_at, spent) VALUES ${places(part.length, 4)}`;
    const rows = (amountOf: (change: Spent) => number) =>
      part.flatMap((change): Parameter[] => {
        const { key, period, endsAt } = change.budget;
        return [key, period, endsAt, amountOf(change)];
      });
    // Afterwards all rows exist, so that the second statement only adds.
    await query(
      `${insert} ON CONFLICT (budget, period) DO NOTHING`,
      rows(() => 0),
    );
    const sum = "spending.spent + excluded.spent";
    await query(
      `${insert} ON CONFLICT (budget, period) DO UPDATE SET spent =
         CASE WHEN ${sum} < 0 THEN 0 WHEN ${sum} > ${MAX_AMOUNT} THEN ${MAX_AMOUNT} ELSE ${sum} END,
         ends_at = CASE WHEN excluded.ends_at > spending.ends_at THEN excluded.ends_at ELSE spending.ends_at END`,
      rows(({ spentChange }) => spentChange),
    );
  }
}

export function targetOf(row: Row): BudgetTarget {
  const endsAt = column(row, "ends_at");
  return {
    kind: "budget",
    key: String(column(row, "budget")),
    period: String(column(row, "period")),
    endsAt: endsAt === null ? null : Number(endsAt),
  };
}

export function column(row: Row, name: string): Parameter {
  return row[name] ?? null;
}

/** A period contains no space. */
export function nameOf({ key, period }: BudgetTarget): string {
  return `${period} ${key}`;
}

export function partsOf<T>(rows: readonly T[]): T[][] {
  const parts: T[][] = [];
  for (let at = 0; at < rows.length; at += ROWS_PER_STATEMENT)
    parts.push(rows.slice(at, at + ROWS_PER_STATEMENT));
  return parts;
}

/** Returns the placeholders of rows for VALUES, after `before` other parameters. */
export function places(rows: number, columns: number, before = 0): string {
  const rowOf = (row: number) =>
    Array.from({ length: columns }, (_, at) => `$${before + row * columns + at + 1}`).join(", ");
  return Array.from({ length: rows }, (_, row) => `(${rowOf(row)})`).join(", ");
}
