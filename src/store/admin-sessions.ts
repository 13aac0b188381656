// Sessions of the console in the store, so that every node knows them and a sign-out ends them everywhere.
import type { Actor } from "../model/administrator.ts";
import { actorIn } from "./actor-column.ts";
import type { AuditEntry, AuditOrigin } from "./audit.ts";
import type { Query } from "./database.ts";

export interface AdminSession {
  /** Of the value of the cookie, which is not stored. */
  readonly hash: string;
  readonly actor: Actor;
  readonly issuer: string;
  /** The groups of the user that had a role when the session began. */
  readonly groups: readonly string[];
  readonly expires_at: string;
  readonly created_at: string;
}

export interface AdminSessionStore {
  /** The audit log says who signed in. */
  insertSession(session: AdminSession, audit: AuditOrigin): Promise<AuditEntry | null>;
  findSession(hash: string): Promise<AdminSession | null>;
  /** Ends a session. Returns null if there is no such session. */
  removeSession(hash: string, audit: AuditOrigin): Promise<AuditEntry | null>;
}

/** The oldest sessions end if there are more. */
const MAX_SESSIONS = 10_000;
const COLUMNS = "hash, actor, issuer, user_groups, expires_at, created_at";

export async function insertSession(query: Query, session: AdminSession): Promise<void> {
  const { hash, actor, issuer, groups, expires_at, created_at } = session;
  await query("DELETE FROM admin_sessions WHERE expires_at <= $1", [created_at]);
  await query(
    `DELETE FROM admin_sessions WHERE hash IN
       (SELECT hash FROM admin_sessions ORDER BY created_at DESC LIMIT 1000 OFFSET ${MAX_SESSIONS - 1})`,
  );
  await query(`INSERT INTO admin_sessions (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6)`, [
    hash,
    JSON.stringify(actor),
    issuer,
    JSON.stringify(groups),
    expires_at,
    created_at,
  ]);
}

export async function findSession(query: Query, hash: string): Promise<AdminSession | null> {
  const [row] = await query(`SELECT ${COLUMNS} FROM admin_sessions WHERE hash = $1`, [hash]);
  const actor = actorIn(row?.["actor"]);
  if (row === undefined || actor === null) return null;
  const groups: unknown = JSON.parse(String(row["user_groups"]));
  return {
    hash: String(row["hash"]),
    actor,
    issuer: String(row["issuer"]),
    groups: Array.isArray(groups) ? groups.map(String) : [],
    expires_at: String(row["expires_at"]),
    created_at: String(row["created_at"]),
  };
}

/** Returns whether there was such a session. */
export async function removeSession(query: Query, hash: string): Promise<boolean> {
  return (await query("DELETE FROM admin_sessions WHERE hash = $1 RETURNING hash", [hash])).length > 0;
}
