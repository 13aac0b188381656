// What each process has spent of a budget in total. With these sums an amount in Redis and the one in the database can be compared and
// merged exactly, however old either of them is. See docs/decisions/0096-ledger.md.
import { MAX_AMOUNT, type BudgetTarget } from "../ledger/ledger.ts";
import {
  PRESUMED,
  type AccountChange,
  type JournalAccount,
  type JournalChange,
} from "../ledger/spent-journal.ts";
import type { Query } from "./database.ts";
import { column, nameOf, partsOf, places, spend, targetOf } from "./spending-rows.ts";

/**
 * Returns the changes with what is missing in the database as `spentChange`, and writes their sums. A sum that the database already
 * exceeds has been included by a change of an operator.
 */
export async function sinceSums(
  query: Query,
  writer: string,
  changes: readonly JournalChange[],
): Promise<readonly JournalChange[]> {
  const summed = changes.filter(({ sum }) => sum !== undefined);
  if (summed.length === 0) return changes;
  const known = new Map<string, number>();
  for (const part of partsOf(summed)) {
    const text = `SELECT budget, period, spent FROM spending_sums WHERE writer = $1
      AND (budget, period) IN (VALUES ${places(part.length, 2, 1)})`;
    const keys = part.flatMap(({ budget }) => [budget.key, budget.period]);
    for (const row of await query(text, [writer, ...keys]))
      known.set(`${String(column(row, "period"))} ${String(column(row, "budget"))}`, Number(row["spent"]));
  }
  const missing = changes.map((change) => {
    const { sum, budget } = change;
    if (sum === undefined) return change;
    return { ...change, spentChange: Math.max(0, sum - (known.get(nameOf(budget)) ?? 0)) };
  });
  await writeSums(
    query,
    summed.map(({ budget, sum = 0 }) => ({ budget, writer, sum })),
  );
  return missing;
}

/** Returns one account per budget, in the same order. Each is read by one statement, so that it is that of one moment. */
export async function readAccounts(
  query: Query,
  budgets: readonly BudgetTarget[],
): Promise<readonly JournalAccount[]> {
  const found = new Map<string, JournalAccount & { readonly sums: Map<string, number> }>();
  for (const part of partsOf(budgets)) {
    const rows = await query(
      `SELECT s.budget AS budget, s.period AS period, s.ends_at AS ends_at, s.spent AS spent, s.version AS version,
         w.writer AS writer, w.spent AS sum
         FROM spending s LEFT JOIN spending_sums w ON w.budget = s.budget AND w.period = s.period
         WHERE (s.budget, s.period) IN (VALUES ${places(part.length, 2)})`,
      part.flatMap(({ key, period }) => [key, period]),
    );
    for (const row of rows) {
      const budget = targetOf(row);
      const [spent, version] = [Number(row["spent"]), Number(row["version"])];
      const account = found.get(nameOf(budget)) ?? { budget, spent, version, sums: new Map() };
      found.set(nameOf(budget), account);
      const writer = column(row, "writer");
      if (writer !== null) account.sums.set(String(writer), Number(row["sum"]));
    }
  }
  return budgets.map(
    (budget) =>
      found.get(nameOf(budget)) ?? { budget, spent: 0, version: 0, sums: new Map<string, number>() },
  );
}

/** Must run in a transaction. The first call decides it. */
export async function installationId(query: Query): Promise<string> {
  const text = "INSERT INTO installation (only_row, id) VALUES (1, $1) ON CONFLICT (only_row) DO NOTHING";
  await query(text, [crypto.randomUUID()]);
  const [row] = await query("SELECT id FROM installation", []);
  return String(row?.["id"] ?? "");
}

/** Must run in a transaction. See AccountJournal. */
export async function changeAccount(
  query: Query,
  budget: BudgetTarget,
  sums: ReadonlyMap<string, number>,
  change: AccountChange,
  unixMs: number,
): Promise<JournalAccount> {
  await spend(query, [{ budget, spentChange: 0 }]);
  const account = await readOne(query, budget);
  let { spent } = account;
  const later: WriterSum[] = [];
  for (const [writer, sum] of sums) {
    const missing = sum - (account.sums.get(writer) ?? 0);
    if (missing <= 0 || writer === PRESUMED) continue;
    spent += missing;
    later.push({ budget, writer, sum });
  }
  await writeSums(query, later);
  // Otherwise the sums of a process that has not written yet look like those of one that ended long ago.
  for (const part of partsOf(later))
    await query(
      `INSERT INTO spending_writers (id, batch, written_at) VALUES ${places(part.length, 3)} ON CONFLICT (id) DO NOTHING`,
      part.flatMap(({ writer }) => [writer, 0, unixMs]),
    );
  if (change.kind === "clear") await forgetPresumed(query, budget);
  const changed = change.kind === "clear" ? 0 : spent + change.amount;
  await query("UPDATE spending SET spent = $1, version = version + 1 WHERE budget = $2 AND period = $3", [
    Math.max(0, Math.min(changed, MAX_AMOUNT)),
    budget.key,
    budget.period,
  ]);
  return readOne(query, budget);
}

/** Call when amounts are charged because processes seem to have ended. No row may occur twice. */
export async function addPresumed(
  query: Query,
  charges: readonly { readonly budget: BudgetTarget; readonly spentChange: number }[],
): Promise<void> {
  for (const part of partsOf(charges))
    await query(
      `INSERT INTO spending_sums (budget, period, writer, spent) VALUES ${places(part.length, 4)}
         ON CONFLICT (budget, period, writer) DO UPDATE SET spent = spending_sums.spent + excluded.spent`,
      part.flatMap(({ budget, spentChange }) => [budget.key, budget.period, PRESUMED, spentChange]),
    );
}

/**
 * Call when such a charge of an amount is undone: the budget becomes less although no process has spent less, so that what Redis has is
 * replaced. Resolves to what to subtract: not what was reset since then.
 */
export async function removePresumed(
  query: Query,
  { key, period }: BudgetTarget,
  amount: number,
): Promise<number> {
  const [found] = await query(
    "SELECT spent FROM spending_sums WHERE budget = $1 AND period = $2 AND writer = $3",
    [key, period, PRESUMED],
  );
  const removed = Math.min(amount, Number(found?.["spent"] ?? 0));
  // SQLite numbers parameters by their first use.
  await query(
    "UPDATE spending_sums SET spent = spent - $1 WHERE budget = $2 AND period = $3 AND writer = $4",
    [removed, key, period, PRESUMED],
  );
  await query("UPDATE spending SET version = version + 1 WHERE budget = $1 AND period = $2", [key, period]);
  return removed;
}

/** Call when a budget is reset: such charges are not a part of it any more. */
export async function forgetPresumed(query: Query, { key, period }: BudgetTarget): Promise<void> {
  const text = "DELETE FROM spending_sums WHERE budget = $1 AND period = $2 AND writer = $3";
  await query(text, [key, period, PRESUMED]);
}

/** Removes the sums of periods that were removed. */
export async function removeSums(query: Query): Promise<void> {
  await query(
    `DELETE FROM spending_sums WHERE NOT EXISTS (SELECT 1 FROM spending s
       WHERE s.budget = spending_sums.budget AND s.period = spending_sums.period)`,
  );
}

/**
 * Removes the sums of processes that ended long ago, so that the number of sums of a budget without an end stays limited. The version
 * changes, so that Redis forgets these sums as well.
 */
export async function foldSums(query: Query): Promise<void> {
  const ended = `w.writer <> '${PRESUMED}' AND NOT EXISTS (SELECT 1 FROM spending_writers WHERE id = w.writer)`;
  await query(
    `UPDATE spending SET version = version + 1 WHERE EXISTS (SELECT 1 FROM spending_sums w
       WHERE w.budget = spending.budget AND w.period = spending.period AND ${ended})`,
  );
  await query(`DELETE FROM spending_sums AS w WHERE ${ended}`);
}

interface WriterSum {
  readonly budget: BudgetTarget;
  readonly writer: string;
  readonly sum: number;
}

/** A sum never decreases. No row may occur twice. */
async function writeSums(query: Query, sums: readonly WriterSum[]): Promise<void> {
  for (const part of partsOf(sums))
    await query(
      `INSERT INTO spending_sums (budget, period, writer, spent) VALUES ${places(part.length, 4)}
         ON CONFLICT (budget, period, writer) DO UPDATE SET spent =
         CASE WHEN excluded.spent > spending_sums.spent THEN excluded.spent ELSE spending_sums.spent END`,
      part.flatMap(({ budget, writer, sum }) => [budget.key, budget.period, writer, sum]),
    );
}

async function readOne(query: Query, budget: BudgetTarget): Promise<JournalAccount> {
  const [account] = await readAccounts(query, [budget]);
  return account ?? { budget, spent: 0, version: 0, sums: new Map<string, number>() };
}
