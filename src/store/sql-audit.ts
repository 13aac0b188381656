// The audit log in the store with SQL.
import { appendAudit, listAudit } from "./audit.ts";
import type { AuditEntry, AuditEvent, AuditPage, AuditQuery } from "./audit.ts";
import type { Database } from "./database.ts";
import { verifyAudit, type AuditVerification } from "./verify-audit.ts";

type UseDatabase = <T>(work: (database: Database) => Promise<T>, isLong?: boolean) => Promise<T>;

export interface AuditStore {
  /** Resolves when the entries are durable. All nodes append to one chain. */
  append(events: readonly AuditEvent[]): Promise<readonly AuditEntry[]>;
  /** Newest first, unless the query has another order. */
  list(query: AuditQuery): Promise<AuditPage>;
  verify(): Promise<AuditVerification>;
}

export class SqlAudit implements AuditStore {
  readonly #use: UseDatabase;
  readonly #kept: number;

  constructor(use: UseDatabase, kept: number) {
    this.#use = use;
    this.#kept = kept;
  }

  append(events: readonly AuditEvent[]): Promise<readonly AuditEntry[]> {
    return this.#use((database) =>
      database.writeTransaction((query) => appendAudit(query, events, this.#kept)),
    );
  }

  list(query: AuditQuery): Promise<AuditPage> {
    return this.#use((database) => listAudit(database, query));
  }

  verify(): Promise<AuditVerification> {
    return this.#use((database) => database.readTransaction(verifyAudit), true);
  }
}
