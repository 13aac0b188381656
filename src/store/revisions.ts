// Revisions: a counter that increases in the transaction that changes something, and a bounded log of the changes.
import { GatehouseError } from "../base/errors.ts";
import type { Actor } from "../model/administrator.ts";
import { actorIn } from "./actor-column.ts";
import type { CredentialCipher } from "./credential-cipher.ts";
import type { Parameter, Query, Row } from "./database.ts";
import { containsText, MIN_ID_LENGTH } from "./search-text.ts";
import { actionIn, changesIn, kindIn, rowChangesIn } from "./revision-columns.ts";
import type {
  Change,
  Page,
  RecordChange,
  Revision,
  RevisionAction,
  RevisionQuery,
  RevisionSort,
  WriteOptions,
} from "./store.ts";
import { fromRow, pricesIn } from "./tables.ts";
import type { RowChange, TransactionRecorder } from "./transaction-recorder.ts";

/** The log is pruned once per this many revisions, so it can be that much longer than configured. */
const PRUNE_EVERY = 100;
const LISTED = "number, created_at, subject, actor, action, resource, resource_id, gateway_id, name, reason";

const ORDERS: Readonly<Record<Exclude<RevisionSort, "created_at">, string>> = {
  name: "LOWER(COALESCE(name, ''))",
  actor: "LOWER(COALESCE(subject, ''))",
};

/** What the column `number` can hold in every database. */
const NUMBER = /^\d{1,9}$/;

export async function readRevision(query: Query): Promise<number> {
  const [row] = await query("SELECT revision FROM configuration");
  if (row === undefined)
    throw new GatehouseError(
      "store_unavailable",
      "The table `configuration` of the database has no row. Restore the database from a backup.",
    );
  return Number(row["revision"]);
}

/** A database that was restored from a backup assigns the same numbers again, at other times. */
export function versionOf(revision: number, createdAt: string | null): string {
  return createdAt === null ? String(revision) : `${revision}-${Date.parse(createdAt).toString(36)}`;
}

/** Returns the newest revision and its version. */
export async function readVersion(query: Query): Promise<{ revision: number; version: string }> {
  const revision = await readRevision(query);
  const [row] = await query("SELECT created_at FROM revisions WHERE number = $1", [revision]);
  return { revision, version: versionOf(revision, textOf(row?.["created_at"])) };
}

/** Increases the revision and logs what the transaction did, in the same transaction. */
export async function recordRevision(
  query: Query,
  recorder: TransactionRecorder,
  options: WriteOptions,
  kept: number,
): Promise<{ about: Revision; version: string }> {
  const [row] = await query("UPDATE configuration SET revision = revision + 1 RETURNING revision");
  const revision = Number(row?.["revision"]);
  const fields = { number: revision, created_at: new Date().toISOString(), ...describe(recorder, options) };
  const places = Object.keys(fields).map((_, index) => `$${index + 1}`);
  await query(
    `INSERT INTO revisions (${Object.keys(fields).join(", ")}) VALUES (${places.join(", ")})`,
    Object.values(fields),
  );
  if (revision % Math.min(PRUNE_EVERY, kept) === 0)
    await query("DELETE FROM revisions WHERE number <= $1", [revision - kept]);
  return { about: toRevision(fields), version: versionOf(revision, fields.created_at) };
}

function describe(
  recorder: TransactionRecorder,
  { subject, audit, action, name, reason }: WriteOptions,
): Record<string, Parameter> {
  const { rowChanges, changes, latest } = recorder;
  const [change] = changes;
  const gateways = new Set(changes.map(({ gatewayId }) => gatewayId));
  const single = changes.length === 1 && change !== undefined ? change : null;
  const about = action === undefined || rowChanges.length === 1 ? latest : null;
  const nameInRow = (about?.after ?? about?.before)?.["name"] ?? null;
  return {
    // The column is NOT NULL: a revision of several gateways has "" here and names all of them in `changes`.
    gateway_id: gateways.size === 1 ? (change?.gatewayId ?? "") : "",
    api_key_id: single?.apiKeyId ?? null,
    // `blockId` is for nodes of older versions, which read the changes of newer ones until they are restarted.
    changes: single === null ? JSON.stringify(changes.map((each) => ({ ...each, blockId: null }))) : null,
    subject: subject ?? null,
    actor: actorText(audit?.actor ?? null),
    action: action ?? actionOf(latest),
    resource: about?.kind ?? null,
    resource_id: about?.id ?? null,
    name: name ?? nameInRow,
    reason: reason ?? null,
    records: JSON.stringify(rowChanges),
  };
}

function actorText(actor: Actor | null): string | null {
  return actor === null ? null : JSON.stringify(actor);
}

function actionOf(latest: RowChange | null): RevisionAction {
  if (latest?.after === null) return "delete";
  return latest?.before === null ? "create" : "update";
}

/** Returns what changed after a revision, or null if the log does not reach back that far. */
export async function readChanges(query: Query, after: number, latest: number): Promise<Change[] | null> {
  if (after > latest) return null;
  if (after === latest) return [];
  const rows = await query(
    `SELECT DISTINCT gateway_id, api_key_id, changes, (SELECT MIN(number) FROM revisions) AS oldest
       FROM revisions WHERE number > $1`,
    [after],
  );
  // Other nodes may be configured to keep fewer revisions, so the oldest one is read. The log has no gaps.
  const oldest = Number(rows[0]?.["oldest"] ?? Infinity);
  if (oldest > after + 1) return null;
  const changes = new Map<string, Change>();
  for (const change of rows.flatMap(changesOf))
    changes.set([change.gatewayId, change.apiKeyId].join("/"), change);
  return [...changes.values()];
}

function changesOf(row: Row): Change[] {
  if (typeof row["changes"] === "string") return changesIn(row["changes"]);
  return [{ gatewayId: String(row["gateway_id"]), apiKeyId: textOf(row["api_key_id"]) }];
}

export async function listRevisions(
  query: Query,
  kept: number,
  { gatewayId, actor, kind, since, until, search, sort, descending = true, limit, offset }: RevisionQuery,
): Promise<Page<Revision>> {
  // PostgreSQL rejects a parameter with this character. No gateway id and no name contains it.
  if ([gatewayId, actor, search].some((each) => each?.includes("\0") === true))
    return { records: [], count: 0 };
  const parameters: Parameter[] = [kept];
  let filter = `WHERE action IS NOT NULL AND number > (SELECT revision FROM configuration) - $1`;
  if (gatewayId !== undefined) {
    parameters.push(gatewayId, `%"${gatewayId.replaceAll(/[\\%_]/g, "\\$&")}"%`);
    filter += ` AND (gateway_id = $2 OR (gateway_id = '' AND changes LIKE $3 ESCAPE '\\'))`;
  }
  const where = (condition: string, value: string | undefined) => {
    if (value !== undefined) filter += ` AND ${condition} $${parameters.push(value)}`;
  };
  where("subject =", actor);
  where("created_at >=", since);
  where("created_at <", until);
  if (kind === null) filter += " AND resource IS NULL";
  else where("resource =", kind);
  if (search !== undefined && search !== "") {
    const ids = search.length < MIN_ID_LENGTH ? [] : ["resource_id", "gateway_id"];
    const text = containsText(
      ["name", "subject", "reason", ...ids],
      search,
      (value) => `$${parameters.push(value)}`,
    );
    filter += NUMBER.test(search)
      ? ` AND (${text} OR number = $${parameters.push(Number(search))})`
      : ` AND ${text}`;
  }
  const direction = descending ? "DESC" : "ASC";
  const order = sort === undefined || sort === "created_at" ? "" : `${ORDERS[sort]} ${direction}, `;
  const page = `LIMIT $${parameters.length + 1} OFFSET $${parameters.length + 2}`;
  const rows = await query(
    `SELECT ${LISTED} FROM revisions ${filter} ORDER BY ${order}number ${direction} ${page}`,
    [...parameters, limit, offset],
  );
  const [counted] = await query(`SELECT COUNT(*) AS count FROM revisions ${filter}`, parameters);
  return { records: rows.map(toRevision), count: Number(counted?.["count"]) };
}

export async function getRevision(
  query: Query,
  kept: number,
  revision: number,
  cipher: CredentialCipher,
): Promise<(Revision & { records: RecordChange[] }) | null> {
  const [row] = await query(
    `SELECT ${LISTED}, records FROM revisions
       WHERE number = $1 AND action IS NOT NULL AND number > (SELECT revision FROM configuration) - $2`,
    [revision, kept],
  );
  if (row === undefined) return null;
  return { ...toRevision(row), records: toRecordChanges(rowChangesIn(String(row["records"])), cipher) };
}

/** Decrypts the rows of changed records. Blocks in old revisions are left out: they are not part of the configuration. */
export function toRecordChanges(changes: readonly RowChange[], cipher: CredentialCipher): RecordChange[] {
  const toRecord = (kind: RecordChange["kind"], stored: Row | null) =>
    stored === null ? null : kind === "prices" ? pricesIn(stored) : fromRow(kind, stored, cipher);
  return changes.flatMap(({ kind, id, before, after }) =>
    kind === "blocks" ? [] : [{ kind, id, before: toRecord(kind, before), after: toRecord(kind, after) }],
  );
}

function toRevision(row: Row): Revision {
  const gatewayId = textOf(row["gateway_id"]);
  return {
    revision: Number(row["number"]),
    created_at: String(row["created_at"]),
    subject: textOf(row["subject"]),
    actor: actorIn(row["actor"]),
    action: actionIn(row["action"]),
    kind: kindIn(row["resource"]),
    resource_id: textOf(row["resource_id"]),
    gateway_id: gatewayId === "" ? null : gatewayId,
    name: textOf(row["name"]),
    reason: textOf(row["reason"]),
  };
}

function textOf(value: Parameter | undefined): string | null {
  return typeof value === "string" ? value : null;
}
