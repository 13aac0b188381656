// Puts records back as they were at a revision: every later revision says what the records it changed were before it.
import { GatehouseError } from "../base/errors.ts";
import type { Query, Row } from "./database.ts";
import type { HistoryEntry } from "./history.ts";
import type { HistoryKind, KeptKey, Kind } from "./store.ts";
import { columnsOf } from "./tables.ts";

const PAGE = 200;

/** A record that changed after the revision that is wanted. */
export interface PastRecord {
  readonly kind: HistoryKind;
  readonly id: string;
  /** As it was at that revision; null: it was not there. */
  readonly row: Row | null;
  /** For a record that is gone by now: as it was when it went. */
  readonly latest: Row | null;
}

/** Blocks are left as they are: whom a limit refuses is no configuration. */
export async function recordsAt(query: Query, revision: number, kept: number): Promise<PastRecord[]> {
  await requireKept(query, revision, kept);
  const records = new Map<string, { kind: HistoryKind; id: string; row: Row | null; latest: Row | null }>();
  for (let last = revision; ;) {
    const rows = await query(
      `SELECT number, records FROM revisions WHERE number > $1 ORDER BY number LIMIT ${PAGE}`,
      [last],
    );
    for (const { number, records: text } of rows) {
      last = Number(number);
      if (typeof text !== "string") throw unknownRevision(revision, "was written before history was kept");
      for (const { kind, id, before } of JSON.parse(text) as HistoryEntry[]) {
        if (kind === "blocks") continue;
        const known = records.get(`${kind}/${id}`) ?? { kind, id, row: before, latest: null };
        known.latest = before;
        records.set(`${kind}/${id}`, known);
      }
    }
    if (rows.length < PAGE) return [...records.values()];
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
 * An API key as it was, less what ended it since: a revoked key stays revoked, and of a rotated one the new key stays.
 * Both were ended because somebody must not have them any more.
 */
export function keepEnded(then: Row, latest: Row | null, kept: KeptKey[]): Row {
  if (latest === null) return then;
  const { hash = null, prefix = null, active = null, last_used_at = null } = latest;
  if (hash === then["hash"] && active === then["active"]) return { ...then, last_used_at };
  const reason = active === then["active"] ? "rotated" : "revoked";
  kept.push({ id: String(then["id"]), name: String(then["name"]), reason });
  const mixed = { ...then, hash, prefix, active, last_used_at };
  // What never stood like this before is new, unless it stands like this already.
  const same = sameRow("api_keys", latest, { ...mixed, updated_at: latest["updated_at"] ?? null });
  return { ...mixed, updated_at: same ? (latest["updated_at"] ?? null) : new Date().toISOString() };
}

export function sameRow(kind: Kind, one: Row | null, other: Row | null): boolean {
  if (one === null || other === null) return one === other;
  return columnsOf(kind).every((column) => (one[column] ?? null) === (other[column] ?? null));
}
