// The administrators in the store with SQL.
import {
  findAdminToken,
  insertAdminToken,
  listAdminTokens,
  recordAdminTokenUse,
  tokenEvent,
  updateAdminToken,
  type AdminTokenPage,
  type AdminTokenQuery,
  type AdminTokenStore,
  type ChangedAdminToken,
  type StoredAdminToken,
} from "./admin-tokens.ts";
import {
  findSession,
  insertSession,
  removeSession,
  type AdminSession,
  type AdminSessionStore,
} from "./admin-sessions.ts";
import { appendAudit, type AuditEntry, type AuditEvent, type AuditOrigin } from "./audit.ts";
import type { JsonObject } from "../base/json.ts";
import type { Database, Query } from "./database.ts";

/** Runs work on the database, within a deadline. */
type UseDatabase = <T>(work: (database: Database) => Promise<T>) => Promise<T>;

export interface IdentityStore extends AdminTokenStore, AdminSessionStore {}

export class SqlIdentities implements IdentityStore {
  readonly #use: UseDatabase;
  readonly #keptAudit: number;

  constructor(use: UseDatabase, keptAudit: number) {
    this.#use = use;
    this.#keptAudit = keptAudit;
  }

  insertAdminToken(token: StoredAdminToken, audit: AuditOrigin): Promise<AuditEntry | null> {
    return this.#write(async (query) => {
      await insertAdminToken(query, token, token.created_at);
      return this.#append(query, tokenEvent(audit, null, token));
    });
  }

  changeAdminToken(
    id: string,
    change: (before: StoredAdminToken) => StoredAdminToken,
    audit: AuditOrigin,
  ): Promise<ChangedAdminToken | null> {
    return this.#write(async (query) => {
      const before = await findAdminToken(query, "id", id);
      if (before === null) return null;
      const after = change(before);
      if (after === before) return { token: after, audit: null };
      await updateAdminToken(query, after);
      return { token: after, audit: await this.#append(query, tokenEvent(audit, before, after)) };
    });
  }

  listAdminTokens(page: AdminTokenQuery): Promise<AdminTokenPage> {
    return this.#use(({ query }) => listAdminTokens(query, page));
  }

  getAdminToken(id: string): Promise<StoredAdminToken | null> {
    return this.#use(({ query }) => findAdminToken(query, "id", id));
  }

  findAdminToken(hash: string): Promise<StoredAdminToken | null> {
    return this.#use(({ query }) => findAdminToken(query, "hash", hash));
  }

  recordAdminTokenUse(id: string, usedAt: string): Promise<void> {
    return this.#write((query) => recordAdminTokenUse(query, id, usedAt));
  }

  insertSession(session: AdminSession, audit: AuditOrigin): Promise<AuditEntry | null> {
    return this.#write(async (query) => {
      await insertSession(query, session);
      return this.#append(query, sessionEvent("sign_in", audit, { groups: [...session.groups] }));
    });
  }

  findSession(hash: string): Promise<AdminSession | null> {
    return this.#use(({ query }) => findSession(query, hash));
  }

  removeSession(hash: string, audit: AuditOrigin): Promise<AuditEntry | null> {
    return this.#write(async (query) =>
      (await removeSession(query, hash)) ? this.#append(query, sessionEvent("sign_out", audit, null)) : null,
    );
  }

  #write<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.#use((database) => database.writeTransaction(work));
  }

  async #append(query: Query, event: AuditEvent): Promise<AuditEntry | null> {
    return (await appendAudit(query, [event], this.#keptAudit))[0] ?? null;
  }
}

function sessionEvent(
  action: "sign_in" | "sign_out",
  origin: AuditOrigin,
  details: JsonObject | null,
): AuditEvent {
  const nothing = { resource_id: null, gateway_id: null, name: null, revision: null };
  return { ...origin, action, resource: "session", ...nothing, details };
}
