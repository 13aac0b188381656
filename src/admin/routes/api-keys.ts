// API keys. The key itself is shown on creation and on rotation only; DELETE revokes a key and keeps its record.
import { z } from "zod";
import { GatehouseError, validationError } from "../../base/errors.ts";
import { apiKeyPrefix, hashApiKey, newApiKey } from "../../base/ids.ts";
import { apiKeySchema, type ApiKeyFields } from "../../model/api-key.ts";
import { CHILD_READ_ONLY_FIELDS, omit, timeOfChange } from "../../model/record.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { StoredApiKey } from "../../kinds/kind.ts";
import { recordQuery } from "../list-query.ts";
import { addOperation, type RouteTable } from "../operation.ts";
import { newChild } from "../record-fields.ts";
import { childFieldSchemas, timeSchema } from "../record-schemas.ts";
import { addResource, changeRecord, pathOfOne } from "../resource-operations.ts";
import type { Resource } from "../resource.ts";

const shownSchema = apiKeySchema.extend({
  ...childFieldSchemas,
  prefix: z.string().meta({ description: "The first nine characters of the key." }),
  active: z.boolean().meta({ description: "False: the key is revoked." }),
  last_used_at: timeSchema.nullable(),
});

/** The response to creation and rotation. */
export const apiKeyWithKeySchema = shownSchema.extend({ key: z.string() });

export const apiKeys: Resource<"api_keys", ApiKeyFields> = {
  kind: "api_keys",
  singular: "API key",
  plural: "API keys",
  tag: "api keys",
  access: { read: "viewer", write: "owner" },
  schemaName: "ApiKey",
  collection: "/iam/api-keys",
  idParameter: "api_key_id",
  isChild: false,
  schema: apiKeySchema,
  shownSchema,
  readOnlyFields: [...CHILD_READ_ONLY_FIELDS, "key", "prefix", "active", "last_used_at"],
  example: {
    name: "mobile app",
    subject_type: "gateway",
    subject: "01890a5d-ac96-774b-bcce-b302099a8057",
    policies: [],
    expires_at: "2030-01-01T00:00:00Z",
    labels: { team: "search" },
    models: ["gpt-4o-mini", "claude-*"],
  },
  patchExample: {
    name: "mobile app",
    policies: [],
    expires_at: "2030-01-01T00:00:00Z",
    labels: { team: "search" },
    models: ["gpt-4o-mini", "claude-*"],
  },
  hasPut: false,
  documentation: {
    list: { description: "Oldest first, unless `sort` is set. Without the keys themselves." },
    create: {
      schema: "ApiKeyWithKey",
      description: "The new record with its key. No later response shows this key.",
    },
    get: { description: "The record, without the key itself." },
    merge: {
      summary: "Change name, policies, expires_at, labels, or models of an API key (JSON merge patch)",
    },
    delete: { summary: "Revoke an API key. Its record remains.", description: "Revoked." },
  },
  listQuery: recordQuery("last_used_at").extend({
    subject: z.string().optional().meta({ description: "Id of the gateway that the keys belong to." }),
  }),
  create: (fields, base) => {
    rejectPast(fields.expires_at);
    const key = newApiKey();
    const record = newChild(base, fields.subject, {
      ...fields,
      ...secretFieldsOf(key),
      active: true,
      last_used_at: null,
    });
    return { record, shownOnce: { key } };
  },
  change: (before, fields, updated_at) => {
    if (fields.subject !== before.subject)
      throw validationError([{ path: "subject", message: "cannot be changed; create a new key" }]);
    // A key that has expired may still be renamed.
    if (fields.expires_at !== before.expires_at) rejectPast(fields.expires_at);
    return { ...before, ...fields, updated_at };
  },
  show: (key) => omit(key, "hash"),
  delete: (transaction, key) =>
    transaction.update("api_keys", { ...key, active: false, updated_at: timeOfChange(key) }),
  requireParent: async (reader, { subject }) => {
    if ((await reader.get("gateways", subject)) === null)
      throw validationError([{ path: "subject", message: `there is no gateway "${subject}"` }]);
  },
  requireMutable: ({ active }) => {
    if (!active) throw new GatehouseError("api_key_revoked", "This API key is revoked. Create a new one.");
  },
  // A revoked key is not written again: its rules may be deleted already, and the write would fail.
  isDeleted: ({ active }) => !active,
};

export function addApiKeyRoutes(table: RouteTable, current: CurrentConfiguration): void {
  addResource(table, current, apiKeys);
  addOperation(table, {
    method: "post",
    path: `${pathOfOne(apiKeys)}/rotate`,
    tag: apiKeys.tag,
    summary: "Replace the key of an API key. The old key stops working immediately.",
    access: { role: apiKeys.access.write, limited: "filtered" },
    response: { status: 200, schema: "ApiKeyWithKey", description: "The record with its new key." },
    etag: "changed",
    handle: (call) => {
      const key = newApiKey();
      const change = (before: StoredApiKey, updated_at: string) => ({
        ...before,
        ...secretFieldsOf(key),
        updated_at,
      });
      return changeRecord(current, apiKeys, call, change, { key });
    },
  });
}

function secretFieldsOf(key: string): Pick<StoredApiKey, "hash" | "prefix"> {
  return { hash: hashApiKey(key), prefix: apiKeyPrefix(key) };
}

function rejectPast(expiresAt: string | null): void {
  if (expiresAt === null || Date.parse(expiresAt) > Date.now()) return;
  throw validationError([{ path: "expires_at", message: "must be in the future" }]);
}
