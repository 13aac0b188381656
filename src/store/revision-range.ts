// Reads what changed between two revisions: each record as it was at the first and is at the last of them.
import { GatehouseError } from "../base/errors.ts";
import { createYielder } from "../base/yield-turns.ts";
import type { CredentialCipher } from "./credential-cipher.ts";
import type { Query } from "./database.ts";
import { rowChangesIn } from "./revision-columns.ts";
import { readRevision, toRecordChanges } from "./revisions.ts";
import type { RevisionRange } from "./store.ts";
import { TransactionRecorder } from "./transaction-recorder.ts";

const PAGE_SIZE = 200;

/** `to` is the newest revision if it is null. Throws a 404 if not all revisions between them are kept. */
export async function readChangesBetween(
  query: Query,
  kept: number,
  cipher: CredentialCipher,
  from: number,
  to: number | null,
): Promise<RevisionRange> {
  const newest = await readRevision(query);
  const last = to ?? newest;
  const highest = Math.max(from, last);
  if (highest > newest)
    throw new GatehouseError(
      "not_found",
      `Revision ${highest} does not exist; the newest one is ${newest}, see gatehouse revisions.`,
    );
  await requireKept(query, from, last, newest - kept);
  const recorder = new TransactionRecorder();
  const yieldTurn = createYielder();
  for (let read = from; ;) {
    const rows = await query(
      `SELECT number, records FROM revisions WHERE number > $1 AND number <= $2 ORDER BY number LIMIT ${PAGE_SIZE}`,
      [read, last],
    );
    for (const { number, records } of rows) {
      await yieldTurn();
      read = Number(number);
      for (const { kind, id, before, after } of rowChangesIn(String(records)))
        recorder.recordRow(kind, id, before, after);
    }
    if (rows.length < PAGE_SIZE) return { to: last, records: toRecordChanges(recorder.rowChanges, cipher) };
  }
}

async function requireKept(query: Query, from: number, last: number, before: number): Promise<void> {
  const [row] = await query(
    "SELECT MIN(number) AS oldest FROM revisions WHERE action IS NOT NULL AND number > $1",
    [before],
  );
  const oldest = Number(row?.["oldest"] ?? Infinity);
  if (from < last && oldest > from + 1)
    throw new GatehouseError(
      "not_found",
      `Revision ${from + 1} is no longer kept (REVISIONS_KEPT); the earliest one to compare with is ${oldest - 1}.`,
    );
}
