// The kinds of records, and what each declares as plain data. The store, revisions, rollback, search, documents and the Admin API derive from it
// what they do with records; validation and compilation are apart, because they are loaded at other times.
import type { ApiKey } from "../model/api-key.ts";
import type { Budget } from "../model/budget.ts";
import type { GameDay } from "../model/game-day.ts";
import type { Gateway } from "../model/gateway.ts";
import type { McpServer } from "../model/mcp-server.ts";
import type { Rule } from "../model/rule.ts";
import type { Service } from "../model/service.ts";
import type { Upstream } from "../model/upstream.ts";
import type { VirtualModel } from "../model/virtual-model.ts";

/** An API key as it is stored: the hash instead of the key itself. */
export type StoredApiKey = ApiKey & { readonly hash: string };

/** The records by the names of their tables, which are the plurals that the Admin API uses. */
export interface RecordOf {
  gateways: Gateway;
  upstreams: Upstream;
  mcp_servers: McpServer;
  services: Service;
  rules: Rule;
  models: VirtualModel;
  budgets: Budget;
  api_keys: StoredApiKey;
  game_days: GameDay;
}

export type Kind = keyof RecordOf;

/** The kinds of records that a gateway is compiled from. API keys are compiled one by one. */
export type PartKind = Exclude<Kind, "gateways" | "api_keys">;

/** All records that a gateway is compiled from. */
export type GatewayParts = { readonly gateway: Gateway } & {
  readonly [K in PartKind]: readonly RecordOf[K][];
};

/** The records of a gateway that documents contain. */
export type DocumentParts = Omit<GatewayParts, "game_days">;

/** A field of a record with the id of another record. */
export interface Reference {
  readonly path: string;
  readonly id: string;
}

/** The references of records of a kind to those of another one in the same gateway. */
interface ReferenceDeclaration<Fields> {
  readonly from: (record: Fields) => readonly Reference[];
  /** The column with the only reference; null if references are in the body. */
  readonly column: string | null;
}

export interface KindDeclaration<K extends Kind> {
  /** As in "virtual model". */
  readonly singular: string;
  /** The name of one record in results of searches and documents. */
  readonly resource: string;
  /** `subject`: a gateway, too, but the records outlive their use and are compiled one by one. */
  readonly parent: "installation" | "gateway" | "subject";
  /** Columns in addition to id, gateway_id, body, created_at, and updated_at. All other fields are stored in the body. */
  readonly columns: readonly string[];
  /** Columns whose fields are not repeated in the body. */
  readonly columnsOnly: readonly string[];
  /** Fields, and fields of them, that rows of earlier versions lack, also those in the log of revisions. */
  readonly addedFields: { readonly [Name in keyof RecordOf[K]]?: Partial<RecordOf[K][Name]> };
  /** Fields of which no two records may have equal values: `all` records, or those of a `gateway`. Null is no value. */
  readonly unique: { readonly [Name in keyof RecordOf[K] & string]?: "all" | "gateway" };
  /** By the kind that the records refer to. A record that others refer to cannot be deleted. */
  readonly refersTo: { readonly [Target in Kind]?: ReferenceDeclaration<RecordOf[K]> };
  /** The condition in SQL under which a record keeps those that it refers to, and its gateway; null: always. */
  readonly usesWhile: string | null;
  /** Where its secrets are: in each of its `targets`, in itself (`server`), or in its `webhook`; null if it has none. */
  readonly secrets: "targets" | "server" | "webhook" | null;
  /** Columns, and `body.` with a field of the body, in which a search looks besides the id and the name. */
  readonly searched: readonly string[];
  /** What search results show beside the name; `hidden`: searches do not find the records. */
  readonly shownInSearch: ((record: RecordOf[K]) => string | null) | "hidden";
  /** Whether documents have the records, and a rollback restores them. */
  readonly isConfiguration: boolean;
  /** Tables with rows about the records, and the column with the id of the record. They are deleted with it. */
  readonly dependents: readonly { readonly table: string; readonly column: string }[];
}
