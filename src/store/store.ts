// The Store: durable records, and a revision that increases with every change to them.
import type { GatewayParts, Kind, RecordOf, StoredApiKey } from "../kinds/kind.ts";
import type { Price } from "../model/price.ts";
import type { Actor } from "../model/administrator.ts";
import type { AuditEntry, WriteAudit } from "./audit.ts";
import type { BlockStore } from "./blocks.ts";
import type { CanaryStore } from "./sql-canaries.ts";
import type { McpToolStore } from "./sql-mcp-tools.ts";
import type { AuditStore } from "./sql-audit.ts";
import type { GameDayStore } from "./sql-game-days.ts";
import type { SpendingStore } from "./sql-spending.ts";
import type { TrafficStore } from "./sql-traffic.ts";
import type { IdentityStore } from "./sql-identities.ts";
import type { UsageBatch, UsageQuery, UsageSum } from "./usage.ts";

/** Prices that an operator has set. They replace the built-in ones. */
export interface StoredPrices {
  readonly prices: readonly Price[];
  readonly updated_at: string;
}

/**
 * What a revision can be about: a record, or the prices, which are not a record. Blocks occur only in revisions that were
 * written before they were kept apart.
 */
export type RevisionKind = Kind | "prices" | "blocks";

/** What a list can be sorted by: `path` and `priority` only for rules, `last_used_at` only for API keys. */
export type SortField = "created_at" | "updated_at" | "name" | "path" | "priority" | "last_used_at";

export interface ListQuery {
  /** Only records of this gateway. For API keys, this is their subject. */
  readonly gatewayId?: string | undefined;
  /** Only these gateways, or only their records. Null or absent: all. */
  readonly gatewayIds?: readonly string[] | null | undefined;
  /** Only records with these ids. Null or absent: all. */
  readonly ids?: readonly string[] | null | undefined;
  readonly name?: string | undefined;
  /** Part of the name, of the id (from 8 characters on), or another text that identifies the record, in any case. */
  readonly search?: string | undefined;
  readonly sort?: SortField | undefined;
  readonly descending?: boolean | undefined;
  readonly limit: number;
  readonly offset: number;
}

export interface Page<T> {
  readonly records: T[];
  /** The number of all matching records, not only those on this page. */
  readonly count: number;
}

export interface Reader {
  get<K extends Kind>(kind: K, id: string): Promise<RecordOf[K] | null>;
  list<K extends Kind>(kind: K, query: ListQuery): Promise<Page<RecordOf[K]>>;
  gatewayParts(gatewayId: string): Promise<GatewayParts | null>;
  /** Returns null if the built-in prices apply. */
  prices(): Promise<StoredPrices | null>;
  /** Identifies the newest revision, also in a database that was restored from a backup and assigns its numbers again. */
  version(): Promise<string>;
}

/** One atomic write. References are checked inside it, so concurrent writes cannot invalidate them. */
export interface Transaction extends Reader {
  /** What this transaction has changed so far, without duplicates. */
  readonly changes: readonly Change[];
  /** Returns the records that this transaction has changed so far, before and after it. */
  recordChanges(): readonly RecordChange[];
  /** Returns the id of a new record. A write that is repeated gets the same ids again. */
  newId(): string;
  insert<K extends Kind>(kind: K, record: RecordOf[K]): Promise<void>;
  update<K extends Kind>(kind: K, record: RecordOf[K]): Promise<void>;
  /** Rejects the deletion of a record that others use (409). */
  remove(kind: Exclude<Kind, "gateways">, id: string): Promise<void>;
  /** Rejects the deletion of a gateway that has records, unless `cascade` is set (409). */
  removeGateway(id: string, cascade: boolean): Promise<void>;
  /** Null restores the built-in prices. */
  setPrices(prices: StoredPrices | null): Promise<void>;
  /** Restores the configuration of that revision. Returns the API keys that stay revoked or rotated. */
  rollBackTo(revision: number, gatewayId?: string | null): Promise<readonly UnrestoredKey[]>;
}

/** An API key that a rollback does not fully restore: for safety, a revoked or rotated key does not become valid again. */
export interface UnrestoredKey {
  readonly id: string;
  readonly name: string;
  readonly reason: "revoked" | "rotated";
}

/** In place of a gateway id, for a change of the prices, which belong to no gateway. */
export const NO_GATEWAY = "";

/** What changed in a revision: an API key or, if its id is null, other records of the gateway. */
export interface Change {
  readonly gatewayId: string;
  readonly apiKeyId: string | null;
}

/** Reads all records at one revision. */
export interface ConsistentView extends Reader {
  readonly revision: number;
  /** Returns what changed after `revision`, or null if the log does not reach back that far. */
  changesAfter(revision: number): Promise<Change[] | null>;
  allGatewayParts(): Promise<GatewayParts[]>;
  allApiKeys(): Promise<StoredApiKey[]>;
}

export interface WriteOptions {
  /** The subject of the admin token that authorizes the write. */
  readonly subject?: string | null;
  /** The administrator who writes. Absent: the write is not recorded in the audit log. */
  readonly audit?: WriteAudit;
  /** Set for a write of many records. Otherwise the action follows from what happened to the record. */
  readonly action?: "rollback" | "apply";
  /** The name of a write of many records in the log of revisions. */
  readonly name?: string;
  /** Why the gateway itself writes. */
  readonly reason?: string;
  /** Extends the deadline for a write of many records. */
  readonly deadlineMs?: number;
  /** Creates the ids of new records. */
  readonly newId?: () => string;
}

export interface Written<T> {
  readonly value: T;
  /** The new revision, or the current one if nothing changed. */
  readonly revision: number;
  /** What `Reader.version` returns for that revision. */
  readonly version: string;
  readonly changes: readonly Change[];
  /** The entry in the audit log; null if nothing changed, or if there was no administrator. */
  readonly audit: AuditEntry | null;
}

export type RevisionAction = "create" | "update" | "delete" | "rollback" | "apply";

/** An entry of the log of revisions: who did what to which record. */
export interface Revision {
  readonly revision: number;
  readonly created_at: string;
  readonly subject: string | null;
  /** Null for revisions of versions that did not record it. */
  readonly actor: Actor | null;
  readonly action: RevisionAction;
  /** Null if the revision changed several records. */
  readonly kind: RevisionKind | null;
  readonly resource_id: string | null;
  /** Null if the revision changed several gateways. */
  readonly gateway_id: string | null;
  readonly name: string | null;
  /** Why the gateway itself made the revision; null if an administrator did. */
  readonly reason: string | null;
}

/** A record before and after a revision; null if it did not exist. */
export interface RecordChange {
  readonly kind: Exclude<RevisionKind, "blocks">;
  readonly id: string;
  readonly before: RecordOf[Kind] | StoredPrices | null;
  readonly after: RecordOf[Kind] | StoredPrices | null;
}

/** What differs between two revisions, up to the revision `to`. */
export interface RevisionRange {
  readonly to: number;
  readonly records: readonly RecordChange[];
}

export type RevisionSort = "created_at" | "name" | "actor";

export interface RevisionQuery {
  /** Only revisions that changed this gateway. */
  readonly gatewayId?: string | undefined;
  /** Name of the administrator. */
  readonly actor?: string | undefined;
  /** Kind of the record; null: several records. */
  readonly kind?: RevisionKind | null | undefined;
  /** RFC 3339 UTC, inclusive. */
  readonly since?: string | undefined;
  /** Exclusive. */
  readonly until?: string | undefined;
  /** Part of the name, of the administrator's name, of the reason, or of an id; or the number of the revision. */
  readonly search?: string | undefined;
  /** Default: newest first. */
  readonly sort?: RevisionSort | undefined;
  readonly descending?: boolean | undefined;
  readonly limit: number;
  readonly offset: number;
}

export interface Store extends Reader, BlockStore {
  readonly identities: IdentityStore;
  readonly audit: AuditStore;
  readonly traffic: TrafficStore;
  readonly spending: SpendingStore;
  readonly gameDays: GameDayStore;
  readonly canaries: CanaryStore;
  readonly mcpTools: McpToolStore;
  /** Runs one write. Resolves when it is durable. A write that changes nothing creates no revision. */
  write<T>(work: (transaction: Transaction) => Promise<T>, options?: WriteOptions): Promise<Written<T>>;
  /** Runs reads that all see the same revision, whatever is written meanwhile. */
  view<T>(work: (view: ConsistentView) => Promise<T>): Promise<T>;
  revision(): Promise<number>;
  /** Writes without changing anything. Rejects if the database cannot be written, for example because its disk is full. */
  checkWritable(): Promise<void>;
  /** Calls `listener` soon after another node wrote, if the database supports notifications. */
  onAnnouncement(listener: () => void): void;
  /** Newest first, unless the query has another order. */
  listRevisions(query: RevisionQuery): Promise<Page<Revision>>;
  /** Returns null for a revision that does not exist or is no longer kept. */
  getRevision(revision: number): Promise<(Revision & { readonly records: readonly RecordChange[] }) | null>;
  /**
   * Returns the records that differ between two revisions. `to` is the newest revision if it is null. Throws a 404 if one of them
   * does not exist, or not all revisions between them are kept.
   */
  changesBetween(from: number, to: number | null): Promise<RevisionRange>;
  /** Stores when API keys were last used, by id. Creates no revision. */
  recordKeyUses(uses: ReadonlyMap<string, string>): Promise<void>;
  /** Adds a batch to the usage totals, only once even if called repeatedly. Creates no revision. */
  addUsage(batch: UsageBatch): Promise<void>;
  /**
   * Writes what a process that has ended did not write. `batchAfter` gets the number of its last batch that was written, 0 if there is
   * none, and returns the final one, or null if that was written before.
   */
  finishUsage(writer: string, batchAfter: (written: number) => UsageBatch | null): Promise<void>;
  sumUsage(query: UsageQuery): Promise<UsageSum[]>;
  close(): Promise<void>;
}

/** The store cannot be used by this process, and retrying will not help. The message says how to fix it. */
export class StoreRejected extends Error {
  constructor(message: string) {
    super(message);
    this.name = "StoreRejected";
  }
}
