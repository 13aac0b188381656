// What budgets have spent: sums per budget and period, and the open reservations of each process.
import { LEASE_MS, type BudgetTarget } from "../ledger/ledger.ts";
import type { JournalBatch, JournalChange, JournalTotal } from "../ledger/spent-journal.ts";
import type { Query, Row } from "./database.ts";
import { column, nameOf, partsOf, places, spend, targetOf, type Spent } from "./spending-rows.ts";
import {
  addPresumed,
  foldSums,
  forgetPresumed,
  removePresumed,
  removeSums,
  sinceSums,
} from "./spending-sums.ts";

const DAY_MS = 86_400_000;
/** How long a period is loaded after its end, for requests that were reserved before it. */
const LOADED_AFTER_END_MS = DAY_MS;
/** Longer, since a clock may be wrong: what is removed too early would be open again. */
const KEPT_AFTER_END_MS = 35 * DAY_MS;
/** A process that has not written for this long has ended and will not retry its last batch. */
const WRITER_KEPT_MS = 60 * DAY_MS;
/** A busy process writes twice per second, and so removes old rows every four minutes. */
const BATCHES_PER_REMOVAL = 500;
/** Limits the duration of one transaction. What remains counts as reserved until the next one. */
const MAX_DEAD_RESERVATIONS = 1000;

const SELECT_TOTALS = `SELECT s.budget AS budget, s.period AS period, s.ends_at AS ends_at, s.spent AS spent, s.version AS version,
  (SELECT SUM(r.reserved) FROM spending_reservations r
     WHERE r.budget = s.budget AND r.period = s.period AND r.writer <> $1) AS elsewhere
  FROM spending s`;

/** Must run in a transaction, so that the number of the batch and its changes become durable together. */
export async function writeSpending(
  query: Query,
  { writer, number, changes, isClockSteady }: JournalBatch,
  now: number,
): Promise<JournalTotal[]> {
  const [recorded] = await query(
    `INSERT INTO spending_writers (id, batch, written_at) VALUES ($1, $2, $3)
       ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, written_at = excluded.written_at
       WHERE spending_writers.batch < excluded.batch RETURNING batch`,
    [writer, number, now],
  );
  // Else an earlier attempt succeeded, but its confirmation was lost.
  if (recorded !== undefined) {
    for (const { budget, isReset } of changes) if (isReset === true) await forgetPresumed(query, budget);
    await spend(query, await withoutCharged(query, writer, await sinceSums(query, writer, changes)));
    await replaceReservations(query, writer, now, changes);
  }
  await chargeDead(query, writer, now);
  if (number % BATCHES_PER_REMOVAL === 1 && isClockSteady !== false) await removeOld(query, now);
  const budgets = changes.map(({ budget }) => budget);
  return readSpending(query, writer, budgets);
}

/** Must run in a transaction. See SpentJournal. */
export async function finishSpending(
  query: Query,
  writer: string,
  batchAfter: (written: number) => JournalBatch | null,
  now: number,
): Promise<void> {
  const [row] = await query("SELECT batch FROM spending_writers WHERE id = $1", [writer]);
  const batch = batchAfter(Number(row?.["batch"] ?? 0));
  if (batch !== null) await writeSpending(query, batch, now);
}

/** Subtracts reservations that another process has charged because this one had not renewed them. */
async function withoutCharged(
  query: Query,
  writer: string,
  changes: readonly JournalChange[],
): Promise<readonly Spent[]> {
  const reserved = changes.filter(({ reservedBefore }) => reservedBefore > 0);
  const present = new Set<string>();
  for (const part of partsOf(reserved)) {
    const text = `SELECT budget, period FROM spending_reservations WHERE writer = $1 AND (budget, period) IN (VALUES ${places(part.length, 2, 1)})`;
    const keys = part.flatMap(({ budget }) => [budget.key, budget.period]);
    for (const row of await query(text, [writer, ...keys]))
      present.add(`${String(column(row, "period"))} ${String(column(row, "budget"))}`);
  }
  const corrected: Spent[] = [];
  for (const { budget, spentChange, reservedBefore } of changes) {
    const isCharged = reservedBefore > 0 && !present.has(nameOf(budget));
    const undone = isCharged ? await removePresumed(query, budget, reservedBefore) : 0;
    corrected.push({ budget, spentChange: spentChange - undone });
  }
  return corrected;
}

/** Must run in a transaction. */
export async function loadSpending(query: Query, writer: string, unixMs: number): Promise<JournalTotal[]> {
  await chargeDead(query, writer, unixMs);
  const rows = await query(`${SELECT_TOTALS} WHERE s.ends_at IS NULL OR s.ends_at > $2`, [
    writer,
    unixMs - LOADED_AFTER_END_MS,
  ]);
  return rows.map(totalOf);
}

/** Returns one total per budget, in the same order. */
export async function readSpending(
  query: Query,
  writer: string,
  budgets: readonly BudgetTarget[],
): Promise<JournalTotal[]> {
  const byName = new Map<string, JournalTotal>();
  for (const part of partsOf(budgets)) {
    const text = `${SELECT_TOTALS} WHERE (s.budget, s.period) IN (VALUES ${places(part.length, 2, 1)})`;
    const keys = part.flatMap(({ key, period }) => [key, period]);
    for (const total of (await query(text, [writer, ...keys])).map(totalOf))
      byName.set(nameOf(total.budget), total);
  }
  return budgets.map((budget) => ({
    budget,
    spent: byName.get(nameOf(budget))?.spent ?? 0,
    reservedElsewhere: byName.get(nameOf(budget))?.reservedElsewhere ?? 0,
    version: byName.get(nameOf(budget))?.version ?? 0,
  }));
}

export async function noteBudgets(query: Query, budgets: readonly BudgetTarget[]): Promise<void> {
  await spend(
    query,
    budgets.map((budget) => ({ budget, spentChange: 0 })),
  );
}

/**
 * The prefix must end with a colon, and may be a key itself. Keys are ordered by their bytes; the first one is the next after `after`, if
 * there is one.
 */
export async function budgetKeys(
  query: Query,
  prefix: string,
  period: string,
  limit: number,
  after?: string,
): Promise<string[]> {
  const first = after === undefined ? "budget >= $1" : "budget > $1";
  const rows = await query(
    `SELECT budget FROM spending WHERE ${first} AND budget < $2 AND period = $3 ORDER BY budget LIMIT $4`,
    [after ?? prefix, prefix.replace(/:$/, ";"), period, limit],
  );
  return rows.map((row) => String(column(row, "budget")));
}

async function replaceReservations(
  query: Query,
  writer: string,
  writtenAt: number,
  changes: readonly JournalChange[],
): Promise<void> {
  for (const part of partsOf(changes.filter(({ reserved }) => reserved === 0)))
    await query(
      `DELETE FROM spending_reservations WHERE writer = $1 AND (budget, period) IN (VALUES ${places(part.length, 2, 1)})`,
      [writer, ...part.flatMap(({ budget }) => [budget.key, budget.period])],
    );
  for (const part of partsOf(changes.filter(({ reserved }) => reserved !== 0)))
    await query(
      `INSERT INTO spending_reservations (budget, period, writer, reserved, written_at) VALUES ${places(part.length, 5)}
         ON CONFLICT (budget, period, writer) DO UPDATE SET reserved = excluded.reserved, written_at = excluded.written_at`,
      part.flatMap(({ budget, reserved }) => [budget.key, budget.period, writer, reserved, writtenAt]),
    );
}

/** Whether there are reservations to charge. `writer` is a process that is alive. */
export async function hasDead(query: Query, writer: string, unixMs: number): Promise<boolean> {
  const text = "SELECT 1 FROM spending_reservations WHERE written_at <= $1 AND writer <> $2 LIMIT 1";
  return (await query(text, [unixMs - LEASE_MS, writer])).length > 0;
}

/** Charges the reservations of other processes that have not written them again within the lease. Must run in a transaction. */
export async function chargeDead(query: Query, writer: string, unixMs: number): Promise<void> {
  const dead = await query(
    `SELECT r.budget AS budget, r.period AS period, r.writer AS writer, r.reserved AS reserved, s.ends_at AS ends_at
       FROM spending_reservations r JOIN spending s ON s.budget = r.budget AND s.period = r.period
       WHERE r.written_at <= $1 AND r.writer <> $2 LIMIT ${MAX_DEAD_RESERVATIONS}`,
    [unixMs - LEASE_MS, writer],
  );
  if (dead.length === 0) return;
  const charges = new Map<string, Spent>();
  for (const row of dead) {
    const budget = targetOf(row);
    const before = charges.get(nameOf(budget))?.spentChange ?? 0;
    charges.set(nameOf(budget), { budget, spentChange: before + Number(row["reserved"]) });
  }
  await spend(query, [...charges.values()]);
  await addPresumed(query, [...charges.values()]);
  for (const part of partsOf(dead))
    await query(
      `DELETE FROM spending_reservations WHERE (budget, period, writer) IN (VALUES ${places(part.length, 3)})`,
      part.flatMap((row) => [column(row, "budget"), column(row, "period"), column(row, "writer")]),
    );
}

async function removeOld(query: Query, unixMs: number): Promise<void> {
  await query("DELETE FROM spending_writers WHERE written_at < $1", [unixMs - WRITER_KEPT_MS]);
  await query("DELETE FROM spending WHERE ends_at < $1", [unixMs - KEPT_AFTER_END_MS]);
  await removeSums(query);
  await foldSums(query);
}

function totalOf(row: Row): JournalTotal {
  return {
    budget: targetOf(row),
    spent: Number(row["spent"] ?? 0),
    reservedElsewhere: Number(row["elsewhere"] ?? 0),
    version: Number(row["version"] ?? 0),
  };
}
