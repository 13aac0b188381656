// The audit log in the store with SQL.
import { appendAudit, lastAudit, listAudit } from "./audit.ts";
import type { AuditEntry, AuditEvent, AuditPage, AuditQuery, AuditSubject } from "./audit.ts";
import type { Database } from "./database.ts";
import { verifyAudit, type AuditVerification } from "./verify-audit.ts";

type UseDatabase = <T>(work: (database: Database) => Promise<T>, isLong?: boolean) => Promise<T>;

export interface AuditStore {
  /** Resolves when the entries are durable. All nodes append to one chain. */
  append(events: readonly AuditEvent[]): Promise<readonly AuditEntry[]>;
  /** As `append`, if `last` is still the last entry about the record. Otherwise resolves to null. */
  appendAfter(last: number, event: AuditEvent): Promise<AuditEntry | null>;
  /** Resolves to the number of the last entry about a record; 0 if there is none. */
  lastAbout(subject: AuditSubject): Promise<number>;
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

  appendAfter(last: number, event: AuditEvent): Promise<AuditEntry | null> {
    return this.#use((database) =>
      // Its lock lets one of several calls of all nodes append.
      database.writeTransaction(async (query) => {
        const { jsonField } = database;
        if ((await lastAudit({ query, jsonField }, event)) !== last) return null;
        const [entry = null] = await appendAudit(query, [event], this.#kept);
        return entry;
      }),
    );
  }

  lastAbout(subject: AuditSubject): Promise<number> {
    return this.#use((database) => lastAudit(database, subject));
  }

  list(query: AuditQuery): Promise<AuditPage> {
    return this.#use((database) => listAudit(database, query));
  }

  verify(): Promise<AuditVerification> {
    return this.#use((database) => database.readTransaction(verifyAudit), true);
  }
}
