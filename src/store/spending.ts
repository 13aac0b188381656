// What budgets have spent, for gateways without Redis: sums per budget and period, and the open reservations of each process.
import { LEASE_MS, MAX_AMOUNT, type BudgetTarget } from "../ledger/ledger.ts";
import type { JournalBatch, JournalChange, JournalTotal } from "../ledger/spent-journal.ts";
import type { Parameter, Query, Row } from "./database.ts";

/** How long a period is kept after its end, for requests that were reserved before it. */
const KEPT_AFTER_END_MS = 86_400_000;
/** A process that has not written for this long has ended and will not retry its last batch. */
const WRITER_KEPT_MS = 30 * 86_400_000;

/** Must run in a transaction, so that the number of the batch and its changes become durable together. */
export async function writeSpending(query: Query, batch: JournalBatch): Promise<JournalTotal[]> {
  const { writer, number, writtenAt, changes } = batch;
  const [recorded] = await query(
    `INSERT INTO spending_writers (id, batch, written_at) VALUES ($1, $2, $3)
       ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, written_at = excluded.written_at
       WHERE spending_writers.batch < excluded.batch RETURNING batch`,
    [writer, number, writtenAt],
  );
  // Else an earlier attempt succeeded, but its confirmation was lost.
  if (recorded !== undefined)
    for (const change of changes) await writeChange(query, writer, writtenAt, change);
  await chargeDead(query, writtenAt);
  if (number === 1) await removeOld(query, writtenAt);
  const totals: JournalTotal[] = [];
  for (const { budget } of changes) totals.push(await readTotal(query, writer, budget));
  return totals;
}

/** Must run in a transaction. */
export async function loadSpending(query: Query, writer: string, unixMs: number): Promise<JournalTotal[]> {
  await chargeDead(query, unixMs);
  const rows = await query(
    "SELECT budget, period, ends_at, spent FROM spending WHERE ends_at IS NULL OR ends_at > $1",
    [unixMs - KEPT_AFTER_END_MS],
  );
  const totals: JournalTotal[] = [];
  for (const row of rows) totals.push(await readTotal(query, writer, targetOf(row)));
  return totals;
}

async function writeChange(
  query: Query,
  writer: string,
  writtenAt: number,
  { budget, spentChange, reserved }: JournalChange,
): Promise<void> {
  await spend(query, budget, spentChange);
  const key = [budget.key, budget.period, writer];
  if (reserved === 0)
    await query("DELETE FROM spending_reservations WHERE budget = $1 AND period = $2 AND writer = $3", key);
  else
    await query(
      `INSERT INTO spending_reservations (budget, period, writer, reserved, written_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (budget, period, writer) DO UPDATE SET reserved = excluded.reserved, written_at = excluded.written_at`,
      [...key, reserved, writtenAt],
    );
}

/** What was spent stays from 0 to MAX_AMOUNT. */
async function spend(query: Query, { key, period, endsAt }: BudgetTarget, change: number): Promise<void> {
  await query(
    `INSERT INTO spending (budget, period, ends_at, spent) VALUES ($1, $2, $3, 0) ON CONFLICT (budget, period) DO NOTHING`,
    [key, period, endsAt],
  );
  const [row] = await query("SELECT spent FROM spending WHERE budget = $1 AND period = $2", [key, period]);
  const spent = Math.min(MAX_AMOUNT, Math.max(0, Number(row?.["spent"] ?? 0) + change));
  await query("UPDATE spending SET spent = $1 WHERE budget = $2 AND period = $3", [spent, key, period]);
}

/** Charges the reservations of processes that have not written them again within the lease. */
async function chargeDead(query: Query, unixMs: number): Promise<void> {
  const dead = await query(
    `SELECT r.budget AS budget, r.period AS period, r.writer AS writer, r.reserved AS reserved, s.ends_at AS ends_at
       FROM spending_reservations r JOIN spending s ON s.budget = r.budget AND s.period = r.period
       WHERE r.written_at <= $1`,
    [unixMs - LEASE_MS],
  );
  for (const row of dead) {
    await spend(query, targetOf(row), Number(row["reserved"]));
    await query("DELETE FROM spending_reservations WHERE budget = $1 AND period = $2 AND writer = $3", [
      column(row, "budget"),
      column(row, "period"),
      column(row, "writer"),
    ]);
  }
}

async function removeOld(query: Query, unixMs: number): Promise<void> {
  await query("DELETE FROM spending_writers WHERE written_at < $1", [unixMs - WRITER_KEPT_MS]);
  await query("DELETE FROM spending WHERE ends_at < $1", [unixMs - KEPT_AFTER_END_MS]);
}

async function readTotal(query: Query, writer: string, budget: BudgetTarget): Promise<JournalTotal> {
  const [row] = await query(
    `SELECT spent, (SELECT SUM(reserved) FROM spending_reservations r
         WHERE r.budget = s.budget AND r.period = s.period AND r.writer <> $1) AS elsewhere
       FROM spending s WHERE s.budget = $2 AND s.period = $3`,
    [writer, budget.key, budget.period],
  );
  const reservedElsewhere = Number(row?.["elsewhere"] ?? 0);
  return { budget, spent: Number(row?.["spent"] ?? 0), reservedElsewhere };
}

function targetOf(row: Row): BudgetTarget {
  const endsAt = column(row, "ends_at");
  return {
    kind: "budget",
    key: String(column(row, "budget")),
    period: String(column(row, "period")),
    endsAt: endsAt === null ? null : Number(endsAt),
  };
}

function column(row: Row, name: string): Parameter {
  return row[name] ?? null;
}
