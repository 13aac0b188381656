// The administrators in the store with SQL.
import {
  findAdminToken,
  insertAdminToken,
  listAdminTokens,
  recordAdminTokenUse,
  updateAdminToken,
  type AdminTokenPage,
  type AdminTokenQuery,
  type AdminTokenStore,
  type StoredAdminToken,
} from "./admin-tokens.ts";
import type { Database } from "./database.ts";

/** Runs work on the database, within a deadline. */
type UseDatabase = <T>(work: (database: Database) => Promise<T>) => Promise<T>;

export type IdentityStore = AdminTokenStore;

export class SqlIdentities implements IdentityStore {
  readonly #use: UseDatabase;

  constructor(use: UseDatabase) {
    this.#use = use;
  }

  insertAdminToken(token: StoredAdminToken): Promise<void> {
    return this.#use((database) =>
      database.writeTransaction((query) => insertAdminToken(query, token, token.created_at)),
    );
  }

  changeAdminToken(
    id: string,
    change: (before: StoredAdminToken) => StoredAdminToken,
  ): Promise<StoredAdminToken | null> {
    return this.#use((database) =>
      database.writeTransaction(async (query) => {
        const before = await findAdminToken(query, "id", id);
        if (before === null) return null;
        const after = change(before);
        if (after !== before) await updateAdminToken(query, after);
        return after;
      }),
    );
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
    return this.#use((database) =>
      database.writeTransaction((query) => recordAdminTokenUse(query, id, usedAt)),
    );
  }
}
