// Finds out what records were like at an earlier revision: every later revision stores the records that it changed as they
// were before it.
import { GatehouseError } from "../base/errors.ts";
import { KINDS } from "../kinds/kinds.ts";
import { timeOfChange } from "../model/record.ts";
import type { VirtualModel } from "../model/virtual-model.ts";
import type { Query, Row } from "./database.ts";
import { rowChangesIn } from "./revision-columns.ts";
import type { RollbackDestinations } from "./rollback-destinations.ts";
import type { Kind } from "../kinds/kind.ts";
import type { RevisionKind, UnrestoredKey } from "./store.ts";
import { columnsOf } from "./tables.ts";

const PAGE_SIZE = 200;

/** A record that changed after the requested revision. */
interface PastRecord {
  readonly kind: Exclude<RevisionKind, "blocks">;
  readonly id: string;
  /** The row at that revision; null if the record did not exist. */
  readonly row: Row | null;
  /** The row before the most recent change. For a deleted record this is its last state. */
  readonly latest: Row | null;
}

/**
 * Returns all records that changed after `revision`, except those that are not part of the configuration: blocks in old revisions, and game
 * days, which a rollback must not start again. Every earlier row is passed to `destinations`.
 */
export async function readRecordsAt(
  query: Query,
  revision: number,
  kept: number,
  destinations: RollbackDestinations,
): Promise<PastRecord[]> {
  await requireKept(query, revision, kept);
  const records = new Map<string, PastRecord>();
  for (let last = revision; ;) {
    const rows = await query(
      `SELECT number, records FROM revisions WHERE number > $1 ORDER BY number LIMIT ${PAGE_SIZE}`,
      [last],
    );
    for (const { number, records: text } of rows) {
      last = Number(number);
      if (typeof text !== "string") throw unknownRevision(revision, "is older than the stored history");
      for (const { kind, id, before } of rowChangesIn(text)) {
        if (kind === "blocks" || (kind !== "prices" && !KINDS[kind].isConfiguration)) continue;
        if (before !== null) destinations.addLater(kind, before);
        const key = `${kind}/${id}`;
        const known = records.get(key);
        records.set(key, { kind, id, row: known === undefined ? before : known.row, latest: before });
      }
    }
    if (rows.length < PAGE_SIZE) return [...records.values()];
  }
}

async function requireKept(query: Query, revision: number, kept: number): Promise<void> {
  const [found] = await query(
    `SELECT number FROM revisions WHERE number = $1 AND number > (SELECT revision FROM configuration) - $2`,
    [revision, kept],
  );
  if (found === undefined) throw unknownRevision(revision, `is not among the last ${kept} that are kept`);
}

function unknownRevision(revision: number, why: string): GatehouseError {
  return new GatehouseError("not_found", `Revision ${revision} ${why}; nothing was changed.`);
}

/**
 * Returns the row of an API key for a rollback. A key that was revoked since stays revoked, and a rotated key keeps its
 * new value: both happened because the old key must not be used anymore. Such keys are added to `unrestored`.
 */
export function preserveRevocation(then: Row, latest: Row | null, unrestored: UnrestoredKey[]): Row {
  if (latest === null) return then;
  const { hash = null, prefix = null, active = null, last_used_at = null } = latest;
  if (hash === then["hash"] && active === then["active"]) return { ...then, last_used_at };
  const reason = active === then["active"] ? "rotated" : "revoked";
  unrestored.push({ id: String(then["id"]), name: String(then["name"]), reason });
  const mixed = { ...then, hash, prefix, active, last_used_at };
  // The mixed row is a new version of the record, unless it equals the current one.
  const isCurrent = isSameRow("api_keys", latest, { ...mixed, updated_at: latest["updated_at"] ?? null });
  return { ...mixed, updated_at: isCurrent ? (latest["updated_at"] ?? null) : new Date().toISOString() };
}

/**
 * Returns the row of a virtual model for a rollback. One with a canary is a new version, unless it equals the current one: nodes count the
 * results of a canary for a version, take those of an earlier version for late ones, and would continue with the counts of that version.
 */
export function asNewVersion(then: Row, now: Row | null, latest: Row | null): Row {
  const { canary } = JSON.parse(String(then["body"])) as Partial<VirtualModel>;
  if (canary === null || canary === undefined) return then;
  if (isSameRow("models", now, { ...then, updated_at: now?.["updated_at"] ?? null })) return now ?? then;
  const { updated_at } = now ?? latest ?? then;
  return { ...then, updated_at: timeOfChange({ updated_at: String(updated_at) }) };
}

export function isSameRow(kind: Kind, one: Row | null, other: Row | null): boolean {
  if (one === null || other === null) return one === other;
  return columnsOf(kind).every((column) => (one[column] ?? null) === (other[column] ?? null));
}
