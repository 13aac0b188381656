// Converts records to table rows and back. Secrets are encrypted in rows and decrypted in records.
import { isJsonObject } from "../base/json.ts";
import type { StoredPluginConfig } from "../model/plugin-config.ts";
import type { CredentialCipher } from "./credential-cipher.ts";
import type { Parameter, Row } from "./database.ts";
import { MCP_SERVERS, openTarget, sealTarget, type SealedRecord } from "./sealed-targets.ts";
import { openWebhook, sealWebhook } from "./sealed-webhooks.ts";
import type { Kind, RecordOf, StoredPrices } from "./store.ts";

/** Columns in addition to id, gateway_id, body, created_at, and updated_at. All other fields are stored in the body. */
const COLUMNS: Record<Kind, readonly string[]> = {
  gateways: ["name", "subdomain"],
  upstreams: ["name"],
  mcp_servers: ["name"],
  services: ["name", "upstream_id"],
  rules: ["name", "service_id"],
  models: ["name"],
  budgets: ["name"],
  game_days: ["name"],
  api_keys: ["name", "hash", "prefix", "active", "last_used_at"],
};

/** Fields that are stored in a column only and not repeated in the body. */
const RECORD_COLUMNS: readonly string[] = ["id", "gateway_id", "created_at", "updated_at"];
const KEY_COLUMNS: readonly string[] = [...RECORD_COLUMNS, "hash", "prefix", "active", "last_used_at"];

/** Fields, and fields of them, that rows of earlier versions lack, also those in the log of revisions. */
const ADDED_FIELDS: {
  readonly [K in Kind]?: { readonly [F in keyof RecordOf[K]]?: Partial<RecordOf[K][F]> };
} = {
  gateways: { error_format: "gatehouse", cors: null, prices: [], trust_user_header: false, jwt_issuers: [] },
  upstreams: { commit: null, hedge: null, on_cancel: "settle", timeouts: { first_content: null } },
  services: { virtual_models: "own", mcp_server_ids: [] },
  models: { canary: null, mirror: null },
  rules: { error_format: null, operations: [], unguarded: [] },
  api_keys: { labels: {}, models: null, tools: null },
};

/** Fields that entries of `required_plugins` of earlier versions lack. */
const ADDED_PLUGIN_FIELDS: Pick<StoredPluginConfig, "mode" | "sample" | "isolation"> = {
  mode: "enforce",
  sample: 1,
  isolation: "inline",
};

/** Adds the absent fields of the entries of lists in a record. */
function completeEntries(record: object): void {
  if (!("required_plugins" in record) || !Array.isArray(record.required_plugins)) return;
  record.required_plugins = record.required_plugins.map((entry: object) => ({
    ...ADDED_PLUGIN_FIELDS,
    ...entry,
  }));
}

/** Returns the fields of a record that are absent or lack a field, with their defaults. */
function absentFields(kind: Kind, record: object): Record<string, unknown> | undefined {
  let absent: Record<string, unknown> | undefined;
  for (const [name, standard] of Object.entries(ADDED_FIELDS[kind] ?? {})) {
    const value: unknown = Reflect.get(record, name);
    if (value === undefined) (absent ??= {})[name] = standard;
    else if (
      isJsonObject(value) &&
      isJsonObject(standard) &&
      Object.keys(standard).some((key) => !(key in value))
    )
      (absent ??= {})[name] = { ...standard, ...value };
  }
  return absent;
}

export function columnsOf(kind: Kind): string[] {
  const parent = kind === "gateways" ? [] : ["gateway_id"];
  return ["id", ...parent, ...COLUMNS[kind], "body", "created_at", "updated_at"];
}

export function toRow<K extends Kind>(kind: K, record: RecordOf[K], cipher: CredentialCipher): Row {
  const encrypted = mapSecretsOf(kind, record, {
    target: (target, id) => sealTarget(target, id, cipher),
    budget: (budget) => sealWebhook(budget, cipher),
  });
  const fields = new Map<string, unknown>(Object.entries(encrypted));
  const columnsOnly = kind === "api_keys" ? KEY_COLUMNS : RECORD_COLUMNS;
  const body = [...fields].filter(([name]) => !columnsOnly.includes(name));
  fields.set("body", JSON.stringify(Object.fromEntries(body)));
  return Object.fromEntries(columnsOf(kind).map((column) => [column, toParameter(fields.get(column))]));
}

export function fromRow<K extends Kind>(kind: K, row: Row, cipher: CredentialCipher): RecordOf[K] {
  const { id, gateway_id, body, created_at, updated_at, hash, prefix, active, last_used_at } = row;
  // Records were validated before they were written. Validating them again would make loading several times slower.
  const fields = JSON.parse(String(body)) as RecordOf[K];
  if (kind === "gateways") completeEntries(fields);
  const parent = kind === "gateways" ? {} : { gateway_id };
  const keyFields = kind === "api_keys" ? { hash, prefix, active: active === 1, last_used_at } : {};
  const record = Object.assign({ id, ...parent }, fields, absentFields(kind, fields), {
    ...keyFields,
    created_at,
    updated_at,
  });
  return mapSecretsOf(kind, record, {
    target: (target, upstreamId) => openTarget(target, upstreamId, cipher),
    budget: (budget) => openWebhook(budget, cipher),
  });
}

function toParameter(value: unknown): Parameter {
  if (typeof value === "boolean") return Number(value);
  return typeof value === "string" || typeof value === "number" ? value : null;
}

/** Encrypts or decrypts secrets. */
interface SecretMapper {
  /** The secrets of a target of an upstream, or of an MCP server. */
  readonly target: <T extends SealedRecord>(target: T, owner: string) => T;
  readonly budget: (budget: RecordOf["budgets"]) => RecordOf["budgets"];
}

type SecretMappers = {
  readonly [K in Kind]: (record: RecordOf[K], map: SecretMapper) => RecordOf[K];
};

const SECRETS: SecretMappers = {
  gateways: (record) => record,
  upstreams: (record, map) => ({
    ...record,
    targets: record.targets.map((target) => map.target(target, record.id)),
  }),
  mcp_servers: (record, map) => map.target(record, MCP_SERVERS),
  services: (record) => record,
  rules: (record) => record,
  models: (record) => record,
  budgets: (record, map) => map.budget(record),
  game_days: (record) => record,
  api_keys: (record) => record,
};

function mapSecretsOf<K extends Kind>(kind: K, record: RecordOf[K], map: SecretMapper): RecordOf[K] {
  const mapper: SecretMappers[K] = SECRETS[kind];
  return mapper(record, map);
}

/** Reads the only row of the table `prices`. */
export function pricesIn(row: Row): StoredPrices {
  const prices = JSON.parse(String(row["body"])) as StoredPrices["prices"];
  return { prices, updated_at: String(row["updated_at"]) };
}
