// Verifies the chain of the audit log: that no kept entry was changed, removed, inserted, or moved.
import { chainHash, eventIn, findEnds, firstSequence, readRows, searchColumns } from "./audit.ts";
import type { Query, Row } from "./database.ts";

export interface AuditVerification {
  readonly valid: boolean;
  /** The number of entries that were verified. */
  readonly entries: number;
  /** The number of the last entry that retention has removed; 0: none. */
  readonly removed: number;
  /** The newest entry and its hash, to compare with a log line. */
  readonly sequence: number;
  readonly hash: string;
  /** The first entry that is wrong. */
  readonly problem: { readonly sequence: number; readonly message: string } | null;
}

const BATCH = 1000;
const NO_ENDS = { removedSequence: 0, removedHash: "", sequence: 0, hash: "" };

/** Must run in a transaction that reads consistently. */
export async function verifyAudit(query: Query): Promise<AuditVerification> {
  const first = await firstSequence(query);
  const ends = await findEnds(query);
  const { removedSequence, removedHash, sequence, hash } = ends ?? NO_ENDS;
  let last = { sequence: removedSequence, hash: removedHash };
  const result = (problem: AuditVerification["problem"]): AuditVerification => ({
    valid: problem === null,
    entries: last.sequence - removedSequence,
    removed: removedSequence,
    sequence,
    hash,
    problem,
  });
  if (ends === null)
    return result({
      sequence: first ?? 0,
      message: "cannot be verified: the ends of the chain were deleted",
    });
  // An entry in the removed prefix would be listed, but is not part of the chain.
  if (first !== null && first <= removedSequence)
    return result({ sequence: first, message: "was inserted into the removed part" });
  for (;;) {
    const rows = await readRows(query, last.sequence, BATCH);
    for (const row of rows) {
      const problem = problemOf(row, last);
      if (problem !== null) return result(problem);
      last = { sequence: Number(row["sequence"]), hash: String(row["hash"]) };
    }
    if (rows.length < BATCH) break;
  }
  if (last.sequence < sequence) return result({ sequence: last.sequence + 1, message: "is missing" });
  const isEnd = `${last.sequence} ${last.hash}` === `${sequence} ${hash}`;
  return result(isEnd ? null : { sequence: last.sequence, message: "is not the recorded end of the chain" });
}

function problemOf(row: Row, previous: { sequence: number; hash: string }): AuditVerification["problem"] {
  const sequence = Number(row["sequence"]);
  const body = String(row["body"]);
  if (sequence !== previous.sequence + 1) return { sequence: previous.sequence + 1, message: "is missing" };
  if (chainHash(previous.hash, sequence, body) !== row["hash"])
    return { sequence, message: "was changed, or does not follow the entry before it" };
  const event = eventIn(body);
  if (event === null) return { sequence, message: "has a text that no node has written" };
  const columns = Object.entries(searchColumns(event));
  const differs = columns.some(([name, value]) => (row[name] ?? null) !== (value ?? null));
  return differs ? { sequence, message: "has a column that was changed" } : null;
}
