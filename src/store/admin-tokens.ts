// Admin tokens in the store. They create no revision: they are no part of the configuration, and a rollback must not restore one.
import { GatehouseError } from "../base/errors.ts";
import type { AdminToken } from "../model/admin-token.ts";
import { isAdminRole, type AdminRole } from "../model/administrator.ts";
import type { AuditEntry, AuditEvent, AuditOrigin } from "./audit.ts";
import type { Parameter, Query, Row } from "./database.ts";

/** An admin token as it is stored: the hash instead of the token itself. */
export type StoredAdminToken = AdminToken & { readonly hash: string };

export interface AdminTokenQuery {
  readonly name?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

export interface AdminTokenPage {
  readonly records: readonly StoredAdminToken[];
  /** The number of all matching tokens, not only those on this page. */
  readonly count: number;
}

export interface ChangedAdminToken {
  readonly token: StoredAdminToken;
  /** Null if nothing changed. */
  readonly audit: AuditEntry | null;
}

export interface AdminTokenStore {
  /** The audit log says who created it. */
  insertAdminToken(token: StoredAdminToken, audit: AuditOrigin): Promise<AuditEntry | null>;
  /**
   * Replaces a token by what `change` returns, in one transaction, and records this in the audit log. Returns null if there is
   * no such token.
   */
  changeAdminToken(
    id: string,
    change: (before: StoredAdminToken) => StoredAdminToken,
    audit: AuditOrigin,
  ): Promise<ChangedAdminToken | null>;
  /** Oldest first. */
  listAdminTokens(query: AdminTokenQuery): Promise<AdminTokenPage>;
  getAdminToken(id: string): Promise<StoredAdminToken | null>;
  findAdminToken(hash: string): Promise<StoredAdminToken | null>;
  recordAdminTokenUse(id: string, usedAt: string): Promise<void>;
}

const COLUMNS = [
  "id",
  "name",
  "role",
  "gateways",
  "hash",
  "prefix",
  "active",
  "expires_at",
  "last_used_at",
  "created_by",
  "created_at",
  "updated_at",
] as const;
const SELECT = `SELECT ${COLUMNS.join(", ")} FROM admin_tokens`;
/** Beyond this number, the oldest revoked and expired tokens are removed. */
const MAX_TOKENS = 1000;

export async function insertAdminToken(query: Query, token: StoredAdminToken, now: string): Promise<void> {
  await removeUnusable(query, now);
  const row = toRow(token);
  const places = COLUMNS.map((_, index) => `$${index + 1}`).join(", ");
  await query(
    `INSERT INTO admin_tokens (${COLUMNS.join(", ")}) VALUES (${places})`,
    COLUMNS.map((column) => row[column] ?? null),
  );
}

async function removeUnusable(query: Query, now: string): Promise<void> {
  const [counted] = await query("SELECT COUNT(*) AS count FROM admin_tokens");
  const excess = Number(counted?.["count"]) - MAX_TOKENS + 1;
  if (excess <= 0) return;
  const removed = await query(
    `DELETE FROM admin_tokens WHERE id IN
       (SELECT id FROM admin_tokens WHERE active = 0 OR expires_at <= $1 ORDER BY id LIMIT $2) RETURNING id`,
    [now, excess],
  );
  if (removed.length === 0)
    throw new GatehouseError(
      "in_use",
      `There are ${MAX_TOKENS} admin tokens in use. Revoke one before you create another.`,
    );
}

export async function updateAdminToken(query: Query, token: StoredAdminToken): Promise<void> {
  const row = toRow(token);
  const assignments = COLUMNS.map((column, index) => `${column} = $${index + 1}`).join(", ");
  await query(
    `UPDATE admin_tokens SET ${assignments} WHERE id = $1`,
    COLUMNS.map((column) => row[column] ?? null),
  );
}

export async function listAdminTokens(
  query: Query,
  { name, limit, offset }: AdminTokenQuery,
): Promise<AdminTokenPage> {
  const parameters: Parameter[] = name === undefined ? [] : [name];
  const filter = name === undefined ? "" : "WHERE name = $1";
  const page = `LIMIT $${parameters.length + 1} OFFSET $${parameters.length + 2}`;
  const rows = await query(`${SELECT} ${filter} ORDER BY id ${page}`, [...parameters, limit, offset]);
  const [counted] = await query(`SELECT COUNT(*) AS count FROM admin_tokens ${filter}`, parameters);
  return { records: rows.map(toToken), count: Number(counted?.["count"]) };
}

/** `hash` is looked up by an index: a client cannot choose the bytes of a hash, so the time reveals nothing. */
export async function findAdminToken(
  query: Query,
  column: "id" | "hash",
  value: string,
): Promise<StoredAdminToken | null> {
  if (value.includes("\0")) return null; // PostgreSQL rejects this character even in parameters
  const [row] = await query(`${SELECT} WHERE ${column} = $1`, [value]);
  return row === undefined ? null : toToken(row);
}

export async function recordAdminTokenUse(query: Query, id: string, usedAt: string): Promise<void> {
  const isLater = "(last_used_at IS NULL OR last_used_at < $1)";
  await query(`UPDATE admin_tokens SET last_used_at = $1 WHERE id = $2 AND ${isLater}`, [usedAt, id]);
}

/** The entry in the audit log for a token that was created, changed, or revoked. */
export function tokenEvent(
  origin: AuditOrigin,
  before: StoredAdminToken | null,
  { id, name, role, gateways, expires_at, active }: StoredAdminToken,
): AuditEvent {
  const fields = { role, gateways, expires_at };
  const renamed = before !== null && before.name !== name ? { renamed_from: before.name } : {};
  return {
    ...origin,
    action: before === null ? "create" : active ? "update" : "revoke",
    resource: "admin_token",
    resource_id: id,
    gateway_id: null,
    name,
    revision: null,
    details: before === null ? { ...fields, secret_shown: true } : { ...fields, ...renamed },
  };
}

function toRow({ gateways, active, ...fields }: StoredAdminToken): Row {
  return {
    ...fields,
    gateways: gateways === null ? null : JSON.stringify(gateways),
    active: Number(active),
  };
}

function toToken(row: Row): StoredAdminToken {
  const text = (column: (typeof COLUMNS)[number]) => String(row[column]);
  const lastUse = row["last_used_at"];
  return {
    id: text("id"),
    name: text("name"),
    role: roleIn(row["role"]),
    gateways: gatewaysIn(row["gateways"]),
    expires_at: text("expires_at"),
    prefix: text("prefix"),
    active: row["active"] === 1,
    last_used_at: typeof lastUse === "string" ? lastUse : null,
    created_by: text("created_by"),
    created_at: text("created_at"),
    updated_at: text("updated_at"),
    hash: text("hash"),
  };
}

/** A role that this version does not know must not become another one. */
function roleIn(value: Parameter | undefined): AdminRole {
  if (isAdminRole(value)) return value;
  throw new Error(
    "The database has a role of an administrator that this version of Gatehouse does not know.",
  );
}

/** Null: all gateways. */
function gatewaysIn(value: Parameter | undefined): string[] | null {
  if (value === null || value === undefined) return null;
  const list: unknown = JSON.parse(String(value));
  return Array.isArray(list) ? list.map(String) : [];
}
