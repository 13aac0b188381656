// The Store: durable records and the revision that counts every change to them.
import type { ApiKey } from "../model/api-key.ts";
import type { Gateway } from "../model/gateway.ts";
import type { Price } from "../model/price.ts";
import type { ChildFields } from "../model/record.ts";
import type { Rule } from "../model/rule.ts";
import type { Service } from "../model/service.ts";
import type { Upstream } from "../model/upstream.ts";
import type { UsageBatch, UsageQuery, UsageSum } from "./usage.ts";

/** An API key as it is kept: the hash stands for the key itself. */
export type StoredApiKey = ApiKey & { readonly hash: string };

/** A subject that a plugin refuses until an operator lifts the block. */
export interface StoredBlock extends ChildFields {
  /** Plugin entry, type and subject in one: a subject is blocked once. */
  readonly name: string;
  readonly type: string;
  readonly subject: string;
  /** The counter that is cleared when the block is lifted. */
  readonly counter_key: string;
}

export interface RecordOf {
  gateways: Gateway;
  upstreams: Upstream;
  services: Service;
  rules: Rule;
  api_keys: StoredApiKey;
  blocks: StoredBlock;
}

export type Kind = keyof RecordOf;

/** The operator's own prices, which replace the built-in ones. */
export interface StoredPrices {
  readonly prices: readonly Price[];
  readonly updated_at: string;
}

/** What a revision may be about: a record, or the prices, of which there is one set. */
export type HistoryKind = Kind | "prices";

export interface ListQuery {
  /** The gateway whose children are wanted; for API keys, their subject. */
  readonly gatewayId?: string | undefined;
  readonly name?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

export interface Page<T> {
  readonly records: T[];
  /** All that match, not only those on this page. */
  readonly count: number;
}

/** A gateway with all that a compiled gateway is made of. API keys are compiled apart, one by one. */
export interface GatewayParts {
  readonly gateway: Gateway;
  readonly upstreams: readonly Upstream[];
  readonly services: readonly Service[];
  readonly rules: readonly Rule[];
}

export interface Reader {
  get<K extends Kind>(kind: K, id: string): Promise<RecordOf[K] | null>;
  list<K extends Kind>(kind: K, query: ListQuery): Promise<Page<RecordOf[K]>>;
  gatewayParts(gatewayId: string): Promise<GatewayParts | null>;
  /** Null: the built-in ones are in force. */
  prices(): Promise<StoredPrices | null>;
}

/** One write, all or nothing. References are checked here, where no other write can come between. */
export interface Transaction extends Reader {
  /** What this transaction has changed so far, each once. */
  readonly changes: readonly Change[];
  insert<K extends Kind>(kind: K, record: RecordOf[K]): Promise<void>;
  update<K extends Kind>(kind: K, record: RecordOf[K]): Promise<void>;
  /** Refuses what others use (409). */
  remove(kind: Exclude<Kind, "gateways">, id: string): Promise<void>;
  /** A gateway with parts goes only with `cascade`. */
  removeGateway(id: string, cascade: boolean): Promise<void>;
  /** Null: back to the built-in ones. */
  setPrices(prices: StoredPrices | null): Promise<void>;
  /** Puts the configuration back as it was at that revision; tells which API keys keep what ended them since. */
  restore(revision: number): Promise<readonly KeptKey[]>;
}

/** An API key that a rollback does not bring back as it was: what was ended for safety's sake stays ended. */
export interface KeptKey {
  readonly id: string;
  readonly name: string;
  readonly reason: "revoked" | "rotated";
}

/** In place of a gateway's id: the prices have changed, which belong to none. */
export const NO_GATEWAY = "";

/** A part of what a revision changed: one API key, one block, or (neither) the rest of a gateway. */
export interface Change {
  readonly gatewayId: string;
  readonly apiKeyId: string | null;
  readonly blockId: string | null;
}

/** A view of the records at one revision. */
export interface ConsistentView extends Reader {
  readonly revision: number;
  /** What changed after `revision`, or null when that is too long ago to tell. */
  changesAfter(revision: number): Promise<Change[] | null>;
  allGatewayParts(): Promise<GatewayParts[]>;
  allApiKeys(): Promise<StoredApiKey[]>;
  allBlocks(): Promise<StoredBlock[]>;
}

export interface WriteOptions {
  /** Who writes: the subject of the admin token. */
  readonly subject?: string | null;
  /** For a write of many records at once; any other is told by what it did to its record. */
  readonly action?: "rollback" | "apply";
  /** What the log calls a write of many records. */
  readonly name?: string;
  /** For a write of many records: how long it may take. */
  readonly deadlineMs?: number;
}

export interface Written<T> {
  readonly value: T;
  /** The new revision; where nothing changed, the one that stands. */
  readonly revision: number;
  readonly changes: readonly Change[];
}

export type RevisionAction = "create" | "update" | "delete" | "rollback" | "apply";

/** One entry of the log: who did what to which record. */
export interface Revision {
  readonly revision: number;
  readonly created_at: string;
  readonly subject: string | null;
  readonly action: RevisionAction;
  /** Null: several records. */
  readonly kind: HistoryKind | null;
  readonly resource_id: string | null;
  /** Null: several gateways. */
  readonly gateway_id: string | null;
  readonly name: string | null;
}

/** A record before and after a revision; null where there was none. */
export interface RecordChange {
  readonly kind: HistoryKind;
  readonly id: string;
  readonly before: RecordOf[Kind] | StoredPrices | null;
  readonly after: RecordOf[Kind] | StoredPrices | null;
}

export interface RevisionQuery {
  /** Only what changed this gateway. */
  readonly gatewayId?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

export interface Store extends Reader {
  /** Runs one write; when it resolves, the write is durable. One that changes nothing makes no revision. */
  write<T>(work: (transaction: Transaction) => Promise<T>, options?: WriteOptions): Promise<Written<T>>;
  /** Reads at one revision, whatever is written meanwhile. */
  view<T>(work: (view: ConsistentView) => Promise<T>): Promise<T>;
  revision(): Promise<number>;
  /** Calls `hear` soon after another node wrote, where the database can tell. */
  onAnnouncement(hear: () => void): void;
  /** Newest first. */
  listRevisions(query: RevisionQuery): Promise<Page<Revision>>;
  /** Null for one that never was or is no longer kept. */
  getRevision(revision: number): Promise<(Revision & { readonly records: readonly RecordChange[] }) | null>;
  /** Notes when API keys were last used, by id. That is no change of the configuration. */
  recordKeyUses(uses: ReadonlyMap<string, string>): Promise<void>;
  /** Adds to the totals of usage, once however often it is called with this batch. No change of the configuration. */
  addUsage(batch: UsageBatch): Promise<void>;
  sumUsage(query: UsageQuery): Promise<UsageSum[]>;
  close(): Promise<void>;
}

/** Why a store cannot be opened, where trying again will not help. */
export class StoreRejected extends Error {
  constructor(sentence: string) {
    super(sentence);
    this.name = "StoreRefused";
  }
}
