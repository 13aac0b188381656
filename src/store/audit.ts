// The audit log in the store: every administrative action, in one chain of hashes. Entries are only appended, and removed from the
// beginning.
import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import type { Actor, AdminRole } from "../model/administrator.ts";
import type { Database, Parameter, Query, Row } from "./database.ts";
import { containsText, MIN_ID_LENGTH } from "./search-text.ts";

export const AUDIT_ACTIONS = [
  "create",
  "update",
  "delete",
  "apply",
  "rollback",
  "revoke",
  "read_secrets",
  "sign_in",
  "sign_out",
  "refused",
] as const;
type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Who acts, and from where. */
export interface AuditOrigin {
  /** Null if no administrator was authenticated. */
  readonly actor: Actor | null;
  readonly role: AdminRole | null;
  /** The address of the client. */
  readonly address: string | null;
  readonly request_id: string | null;
}

/** An action that is to be recorded. It must not contain a secret. */
export interface AuditEvent extends AuditOrigin {
  readonly action: AuditAction;
  /** What the action is about, such as `gateway`. */
  readonly resource: string | null;
  readonly resource_id: string | null;
  readonly gateway_id: string | null;
  readonly name: string | null;
  /** The revision that the action created. */
  readonly revision: number | null;
  readonly details: JsonObject | null;
}

/** The origin of a write, and whether its response shows a secret that it has created, such as a new API key. */
export interface WriteAudit extends AuditOrigin {
  readonly showsSecret?: () => boolean;
}

export interface AuditEntry extends AuditEvent {
  readonly sequence: number;
  readonly created_at: string;
  /** SHA-256, in hexadecimal, of the hash of the entry before, this sequence number, and the stored text of this entry. */
  readonly hash: string;
}

export type AuditSort = "created_at" | "actor" | "action" | "address";

export interface AuditQuery {
  /** Name of the administrator. */
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  /** `done`: all but rejected requests. */
  readonly outcome?: "done" | "refused" | undefined;
  readonly resource?: string | undefined;
  readonly gatewayId?: string | undefined;
  readonly address?: string | undefined;
  /** RFC 3339 UTC, inclusive. */
  readonly since?: string | undefined;
  /** Exclusive. */
  readonly until?: string | undefined;
  /** Part of the name, of the administrator's name, of the address, or of an id; or the number of the entry. */
  readonly search?: string | undefined;
  /** Default: newest first. */
  readonly sort?: AuditSort | undefined;
  readonly descending?: boolean | undefined;
  readonly limit: number;
  readonly offset: number;
}

export interface AuditPage {
  readonly records: readonly AuditEntry[];
  /** The number of all matching entries, not only those on this page. */
  readonly count: number;
}

/** Entries are removed once per this many, so the log can be that much longer than configured. */
const PRUNE_EVERY = 100;
const COLUMNS = "sequence, created_at, action, actor, resource, gateway_id, address, body, hash";

/** Must run in a write transaction: its lock keeps nodes from appending to the same entry. */
export async function appendAudit(
  query: Query,
  events: readonly AuditEvent[],
  kept: number,
): Promise<AuditEntry[]> {
  const ends = await findEnds(query);
  if (ends === null) throw new Error("the table audit_ends is empty: it was changed in the database");
  let { sequence, hash } = ends;
  const entries: AuditEntry[] = [];
  for (const event of events) {
    const stored = { created_at: new Date().toISOString(), ...event };
    const body = JSON.stringify(stored);
    hash = chainHash(hash, ++sequence, body);
    const row = { sequence, ...searchColumns(stored), body, hash };
    const places = Object.keys(row).map((_, index) => `$${index + 1}`);
    await query(
      `INSERT INTO audit_entries (${Object.keys(row).join(", ")}) VALUES (${places.join(", ")})`,
      Object.values(row),
    );
    entries.push(toEntry(row));
  }
  await query("UPDATE audit_ends SET sequence = $1, hash = $2", [sequence, hash]);
  if (sequence - ends.removedSequence >= kept + Math.min(PRUNE_EVERY, kept))
    await removePrefix(query, sequence - kept);
  return entries;
}

/** Removes the entries up to a number, and keeps the hash of the last one, from which the rest of the chain can be verified. */
async function removePrefix(query: Query, last: number): Promise<void> {
  const [row] = await query("SELECT hash FROM audit_entries WHERE sequence = $1", [last]);
  if (row === undefined) return; // the chain is damaged: keep what is left of it
  await query("DELETE FROM audit_entries WHERE sequence <= $1", [last]);
  await query("UPDATE audit_ends SET removed_sequence = $1, removed_hash = $2", [last, String(row["hash"])]);
}

/** What the entries of a change are about. */
export type AuditSubject = Pick<AuditEvent, "resource" | "resource_id" | "gateway_id">;

/** Returns the number of the last entry about a record; 0 if there is none. */
export async function lastAudit(
  database: Pick<Database, "query" | "jsonField">,
  { resource, resource_id, gateway_id }: AuditSubject,
): Promise<number> {
  const { records } = await listAudit(database, {
    resource: resource ?? undefined,
    gatewayId: gateway_id ?? undefined,
    search: resource_id ?? undefined,
    limit: 1,
    offset: 0,
  });
  return records[0]?.sequence ?? 0;
}

export async function listAudit(
  { query, jsonField }: Pick<Database, "query" | "jsonField">,
  filter: AuditQuery,
): Promise<AuditPage> {
  const conditions: string[] = [];
  const parameters: Parameter[] = [];
  const where = (condition: string, value: string | undefined) => {
    if (value === undefined) return;
    conditions.push(`${condition} $${parameters.push(value)}`);
  };
  where("actor =", filter.actor);
  where("action =", filter.action);
  if (filter.outcome !== undefined) where(filter.outcome === "refused" ? "action =" : "action <>", "refused");
  where("resource =", filter.resource);
  where("gateway_id =", filter.gatewayId);
  where("address =", filter.address);
  where("created_at >=", filter.since);
  where("created_at <", filter.until);
  const { search = "", sort = "created_at", descending = true } = filter;
  if (search !== "") {
    const bodyFields = search.length < MIN_ID_LENGTH ? ["name"] : ["name", "resource_id", "request_id"];
    const ids = search.length < MIN_ID_LENGTH ? [] : ["gateway_id"];
    const fields = [...SEARCHED, ...ids, ...bodyFields.map((field) => bodyField(field, jsonField))];
    const add = (value: string) => `$${parameters.push(value)}`;
    // All of the fields are part of the body. To search it first is faster than to read its fields.
    const body = containsText(["body"], JSON.stringify(search).slice(1, -1), add);
    const text = `(${body} AND ${containsText(fields, search, add)})`;
    conditions.push(
      NUMBER.test(search) ? `(${text} OR sequence = $${parameters.push(Number(search))})` : text,
    );
  }
  // PostgreSQL rejects a parameter with this character. No entry contains it.
  if (parameters.some((each) => String(each).includes("\0"))) return { records: [], count: 0 };
  const matching = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  const page = `LIMIT $${parameters.length + 1} OFFSET $${parameters.length + 2}`;
  const rows = await query(
    `SELECT ${COLUMNS} FROM audit_entries ${matching} ORDER BY ${orderOf(sort, descending)} ${page}`,
    [...parameters, filter.limit, filter.offset],
  );
  const [counted] = await query(`SELECT COUNT(*) AS count FROM audit_entries ${matching}`, parameters);
  return { records: rows.map(toEntry), count: Number(counted?.["count"]) };
}

/** Columns that `search` looks at. */
const SEARCHED = ["actor", "address", "resource"];
/** What the column `sequence` can hold in every database. */
const NUMBER = /^\d{1,9}$/;

/**
 * PostgreSQL cannot read a field of a text with an escaped U+0000 or with half of a surrogate pair, wherever in the text it is.
 * Clients can cause such entries, so the whole text of these is searched.
 */
function bodyField(field: string, jsonField: Database["jsonField"]): string {
  const isUnreadable = `body LIKE '%\\u0000%' ESCAPE '!' OR body LIKE '%\\ud%' ESCAPE '!'`;
  return `(CASE WHEN ${isUnreadable} THEN body ELSE ${jsonField("body", field)} END)`;
}

function orderOf(sort: AuditSort, descending: boolean): string {
  const direction = descending ? "DESC" : "ASC";
  const first = sort === "created_at" ? "" : `LOWER(COALESCE(${sort}, '')) ${direction}, `;
  return `${first}sequence ${direction}`;
}

interface AuditEnds {
  /** The last entry that was removed from the beginning of the chain. */
  readonly removedSequence: number;
  readonly removedHash: string;
  /** The newest entry. */
  readonly sequence: number;
  readonly hash: string;
}

/** Returns null if they were deleted: there is always one row. */
export async function findEnds(query: Query): Promise<AuditEnds | null> {
  const [row] = await query("SELECT removed_sequence, removed_hash, sequence, hash FROM audit_ends");
  if (row === undefined) return null;
  return {
    removedSequence: Number(row["removed_sequence"]),
    removedHash: String(row["removed_hash"]),
    sequence: Number(row["sequence"]),
    hash: String(row["hash"]),
  };
}

/** Returns the number of the first entry; null if there is none. */
export async function firstSequence(query: Query): Promise<number | null> {
  const [row] = await query("SELECT MIN(sequence) AS first FROM audit_entries");
  const first = row?.["first"] ?? null;
  return first === null ? null : Number(first);
}

export function chainHash(previous: string, sequence: number, body: string): string {
  return createHash("sha256").update(`${previous}\n${sequence}\n${body}`).digest("hex");
}

/** Reads entries after a number, oldest first, as they are stored. */
export function readRows(query: Query, after: number, limit: number): Promise<Row[]> {
  return query(`SELECT ${COLUMNS} FROM audit_entries WHERE sequence > $1 ORDER BY sequence LIMIT $2`, [
    after,
    limit,
  ]);
}

/** Returns the columns that repeat a part of the body. */
export function searchColumns({ created_at, action, actor, resource, gateway_id, address }: StoredEvent) {
  return { created_at, action, actor: actor?.name ?? null, resource, gateway_id, address };
}

function toEntry(row: Row): AuditEntry {
  const { sequence, body, hash } = row;
  return { sequence: Number(sequence), ...(eventIn(String(body)) ?? eventOf(row)), hash: String(hash) };
}

type StoredEvent = AuditEvent & { readonly created_at: string };

/** Returns null for a body that was changed to something else. Otherwise it would hide all other entries of a list. */
export function eventIn(body: string): StoredEvent | null {
  try {
    const event: unknown = JSON.parse(body);
    // Only this file writes entries, so the other members are not validated again.
    return isJsonObject(event) && "created_at" in event ? (event as unknown as StoredEvent) : null;
  } catch {
    return null;
  }
}

/** Returns what the columns of an entry say whose body cannot be read. They have the name of its administrator only. */
function eventOf(row: Row): StoredEvent {
  const textOf = (column: string) => (typeof row[column] === "string" ? row[column] : null);
  return {
    created_at: textOf("created_at") ?? "",
    actor: null,
    role: null,
    address: textOf("address"),
    request_id: null,
    action: AUDIT_ACTIONS.find((action) => action === row["action"]) ?? "update",
    resource: textOf("resource"),
    resource_id: null,
    gateway_id: textOf("gateway_id"),
    name: null,
    revision: null,
    details: null,
  };
}
