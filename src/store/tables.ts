// How each kind of record stands in its table. Credentials are sealed on the way in and opened on the way out.
import type { Target } from "../model/target.ts";
import type { CredentialCipher } from "./credential-cipher.ts";
import type { Parameter, Row } from "./database.ts";
import type { Kind, RecordOf, StoredPrices } from "./store.ts";

/** Columns beside id, gateway_id, body, created_at and updated_at; the rest of a record is its body. */
const COLUMNS: Record<Kind, readonly string[]> = {
  gateways: ["name", "subdomain"],
  upstreams: ["name"],
  services: ["name", "upstream_id"],
  rules: ["name", "service_id"],
  api_keys: ["name", "hash", "prefix", "active", "last_used_at"],
  blocks: ["name"],
};

/** Fields that have a column only, and so are left out of the body. */
const RECORD_COLUMNS: readonly string[] = ["id", "gateway_id", "created_at", "updated_at"];
const KEY_COLUMNS: readonly string[] = [...RECORD_COLUMNS, "hash", "prefix", "active", "last_used_at"];

export function columnsOf(kind: Kind): string[] {
  const own = kind === "gateways" ? [] : ["gateway_id"];
  return ["id", ...own, ...COLUMNS[kind], "body", "created_at", "updated_at"];
}

export function toRow<K extends Kind>(kind: K, record: RecordOf[K], cipher: CredentialCipher): Row {
  const fields = record as unknown as Record<string, unknown>;
  const row: Row = {};
  for (const column of columnsOf(kind)) {
    const value = fields[column];
    if (column === "body") row[column] = JSON.stringify(bodyOf(kind, record, cipher));
    else row[column] = typeof value === "boolean" ? Number(value) : (value as Parameter);
  }
  return row;
}

export function fromRow<K extends Kind>(kind: K, row: Row, cipher: CredentialCipher): RecordOf[K] {
  const { id, gateway_id, body, created_at, updated_at, hash, prefix, active, last_used_at } = row;
  const fields = JSON.parse(String(body)) as Record<string, unknown>;
  if (kind === "upstreams") {
    const targets = fields["targets"] as Target[];
    fields["targets"] = targets.map((target) =>
      withCredential(target, (value, bound) => cipher.open(value, bound), id),
    );
  }
  const owner = kind === "gateways" ? {} : { gateway_id };
  const secret = kind === "api_keys" ? { hash, prefix, active: active === 1, last_used_at } : {};
  return { id, ...owner, ...fields, ...secret, created_at, updated_at } as unknown as RecordOf[K];
}

function bodyOf<K extends Kind>(
  kind: K,
  record: RecordOf[K],
  cipher: CredentialCipher,
): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  const columnsOnly = kind === "api_keys" ? KEY_COLUMNS : RECORD_COLUMNS;
  for (const [key, value] of Object.entries(record)) if (!columnsOnly.includes(key)) body[key] = value;
  if (kind === "upstreams") {
    const { targets, id } = record as RecordOf["upstreams"];
    body["targets"] = targets.map((target) =>
      withCredential(target, (value, bound) => cipher.seal(value, bound), id),
    );
  }
  return body;
}

/** A credential is bound to its upstream and its target: copied into another row, it does not open. */
function withCredential(
  target: Target,
  change: (value: string, boundTo: string) => string,
  upstreamId: unknown,
): Target {
  if (target.credentials === null) return target;
  const header_value = change(target.credentials.header_value, `${String(upstreamId)}/${target.id}`);
  return { ...target, credentials: { ...target.credentials, header_value } };
}

/** The one row of prices. */
export function pricesIn(row: Row): StoredPrices {
  const prices = JSON.parse(String(row["body"])) as StoredPrices["prices"];
  return { prices, updated_at: String(row["updated_at"]) };
}
