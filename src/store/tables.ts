// Converts records to table rows and back. Secrets are encrypted in rows and decrypted in records.
import { isJsonObject } from "../base/json.ts";
import type { Kind, RecordOf } from "../kinds/kind.ts";
import { KINDS } from "../kinds/kinds.ts";
import type { StoredPluginConfig } from "../model/plugin-config.ts";
import type { CredentialCipher } from "./credential-cipher.ts";
import type { Parameter, Row } from "./database.ts";
import { mapSecretsOf } from "./record-secrets.ts";
import { openTarget, sealTarget } from "./sealed-targets.ts";
import { openWebhook, sealWebhook } from "./sealed-webhooks.ts";
import type { StoredPrices } from "./store.ts";

/** Fields of all records that are stored in a column only and not repeated in the body. */
const RECORD_COLUMNS: readonly string[] = ["id", "gateway_id", "created_at", "updated_at"];

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
  for (const [name, standard] of Object.entries(KINDS[kind].addedFields)) {
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
  const { parent, columns } = KINDS[kind];
  return [
    "id",
    ...(parent === "installation" ? [] : ["gateway_id"]),
    ...columns,
    "body",
    "created_at",
    "updated_at",
  ];
}

export function toRow<K extends Kind>(kind: K, record: RecordOf[K], cipher: CredentialCipher): Row {
  const encrypted = mapSecretsOf(kind, record, {
    target: (target, id) => sealTarget(target, id, cipher),
    webhook: (budget) => sealWebhook(budget, cipher),
  });
  const fields = new Map<string, unknown>(Object.entries(encrypted));
  const { columnsOnly } = KINDS[kind];
  const body = [...fields].filter(([name]) => !RECORD_COLUMNS.includes(name) && !columnsOnly.includes(name));
  fields.set("body", JSON.stringify(Object.fromEntries(body)));
  return Object.fromEntries(columnsOf(kind).map((column) => [column, toParameter(fields.get(column))]));
}

export function fromRow<K extends Kind>(kind: K, row: Row, cipher: CredentialCipher): RecordOf[K] {
  const { id, gateway_id, body, created_at, updated_at } = row;
  const { parent, columnsOnly } = KINDS[kind];
  // Records were validated before they were written. Validating them again would make loading several times slower.
  const fields = JSON.parse(String(body)) as RecordOf[K];
  if (kind === "gateways") completeEntries(fields);
  const columnFields: object = Object.fromEntries(
    columnsOnly.map((column) => [column, fieldIn(column, row[column])]),
  );
  const record: RecordOf[K] = Object.assign(
    {},
    parent === "installation" ? { id } : { id, gateway_id },
    fields,
    {
      ...absentFields(kind, fields),
      ...columnFields,
      created_at,
      updated_at,
    },
  );
  return mapSecretsOf(kind, record, {
    target: (target, upstreamId) => openTarget(target, upstreamId, cipher),
    webhook: (budget) => openWebhook(budget, cipher),
  });
}

function fieldIn(column: string, value: Parameter | undefined): unknown {
  return column === "active" ? value === 1 : value;
}

function toParameter(value: unknown): Parameter {
  if (typeof value === "boolean") return Number(value);
  return typeof value === "string" || typeof value === "number" ? value : null;
}

/** Reads the only row of the table `prices`. */
export function pricesIn(row: Row): StoredPrices {
  const prices = JSON.parse(String(row["body"])) as StoredPrices["prices"];
  return { prices, updated_at: String(row["updated_at"]) };
}
