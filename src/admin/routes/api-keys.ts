// API keys: the key itself is shown once, at creation and rotation; a revoked key leaves its record behind.
import { z } from "zod";
import { GatehouseError, validationError } from "../../base/errors.ts";
import { apiKeyPrefix, hashApiKey, newApiKey, newId } from "../../base/ids.ts";
import { mergePatch, type JsonObject } from "../../base/json.ts";
import { API_KEY_MUTABLE_FIELDS, apiKeySchema, type ApiKey } from "../../model/api-key.ts";
import { READ_ONLY_FIELDS } from "../../model/record.ts";
import { unknownNameMessage, validate } from "../../model/validate.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { StoredApiKey, Transaction } from "../../store/store.ts";
import { readResponse, recordResponse, requireMatch } from "../etag.ts";
import { listQuery, listResponse } from "../list-query.ts";
import { addOperation, type Caller, type RouteTable } from "../operation.ts";
import { refuseReadOnly, timeOfChange, withoutFields } from "../record-fields.ts";
import { notFound, writeRecord } from "../write.ts";

const KEY_READ_ONLY = [...READ_ONLY_FIELDS, "key", "prefix", "active", "last_used_at"];
const apiKeyListQuery = listQuery.extend({ subject: z.string().optional() });

const API_KEY_EXAMPLE = {
  name: "mobile app",
  subject_type: "gateway",
  subject: "01890a5d-ac96-774b-bcce-b302099a8057",
  policies: [],
  expires_at: "2030-01-01T00:00:00Z",
};

export function addApiKeyRoutes(table: RouteTable, current: CurrentConfiguration): void {
  const tag = "api keys";
  const collection = "/iam/api-keys";
  const one = `${collection}/{api_key_id}`;
  const idOf = (params: Readonly<Record<string, string>>) => params["api_key_id"] ?? "";

  addOperation(table, {
    method: "get",
    path: collection,
    tag,
    summary: "List API keys",
    query: apiKeyListQuery,
    answer: { status: 200, schema: "ApiKeyList", description: "Oldest first, without the keys themselves." },
    handle: async ({ query: { subject, ...query } }) => {
      const page = await current.store.list("api_keys", { gatewayId: subject, ...query });
      return listResponse("api_keys", page.records.map(shown), page.count, query);
    },
  });

  addOperation(table, {
    method: "post",
    path: collection,
    tag,
    summary: "Create an API key",
    body: "ApiKeyInput",
    bodyExample: API_KEY_EXAMPLE,
    answer: {
      status: 201,
      schema: "ApiKeyWithKey",
      description: "The only answer, with rotation, that holds the key.",
    },
    etag: "created",
    handle: async ({ body, caller }) => {
      refuseReadOnly(body, KEY_READ_ONLY);
      const fields = validate(apiKeySchema, body);
      refusePast(fields.expires_at);
      const key = newApiKey();
      const now = new Date().toISOString();
      const times = { created_at: now, updated_at: now, last_used_at: null };
      const record: StoredApiKey = {
        id: newId(),
        gateway_id: fields.subject,
        ...fields,
        ...secretOf(key),
        active: true,
        ...times,
      };
      await writeRecord(current, caller, async (transaction) => {
        if ((await transaction.get("gateways", fields.subject)) === null) {
          throw validationError([{ path: "subject", message: `there is no gateway "${fields.subject}"` }]);
        }
        await transaction.insert("api_keys", record);
        return record;
      });
      const headers = { Location: `/api/v1${collection}/${record.id}` };
      return recordResponse(shown(record), { status: 201, headers, extra: { key } });
    },
  });

  addOperation(table, {
    method: "get",
    path: one,
    tag,
    summary: "Get an API key",
    answer: { status: 200, schema: "ApiKey", description: "The record, without the key itself." },
    etag: "read",
    handle: async ({ params, caller }) => {
      const record = await current.store.get("api_keys", idOf(params));
      if (record === null) throw notFound("api_keys", idOf(params));
      return readResponse(caller, shown(record));
    },
  });

  addOperation(table, {
    method: "patch",
    path: one,
    tag,
    summary: "Change name, policies or expires_at of an API key (JSON merge patch)",
    body: "ApiKeyPatch",
    answer: { status: 200, schema: "ApiKey", description: "The record as it is now." },
    etag: "changed",
    handle: async ({ params, body, caller }) => {
      const changed = await writeRecord(current, caller, async (transaction) => {
        const before = await requireActive(transaction, caller, idOf(params));
        const record = { ...before, ...patched(before, body), updated_at: timeOfChange(before) };
        await transaction.update("api_keys", record);
        return record;
      });
      return recordResponse(shown(changed));
    },
  });

  addOperation(table, {
    method: "post",
    path: `${one}/rotate`,
    tag,
    summary: "Give an API key a new key; the old one ends at once",
    answer: { status: 200, schema: "ApiKeyWithKey", description: "The record with its new key." },
    etag: "changed",
    handle: async ({ params, caller }) => {
      const key = newApiKey();
      const rotated = await writeRecord(current, caller, async (transaction) => {
        const before = await requireActive(transaction, caller, idOf(params));
        const record = { ...before, ...secretOf(key), updated_at: timeOfChange(before) };
        await transaction.update("api_keys", record);
        return record;
      });
      return recordResponse(shown(rotated), { extra: { key } });
    },
  });

  addOperation(table, {
    method: "delete",
    path: one,
    tag,
    summary: "Revoke an API key; its record stays",
    answer: { status: 204, description: "Revoked." },
    etag: "changed",
    handle: async ({ params, caller }) => {
      const found = await current.store.get("api_keys", idOf(params));
      if (found === null) throw notFound("api_keys", idOf(params));
      // Its rules may be gone by now: what is revoked is not written again.
      if (!found.active) return new Response(null, { status: 204 });
      await writeRecord(current, caller, async (transaction) => {
        const before = await requireActive(transaction, caller, found.id);
        const record = { ...before, active: false, updated_at: timeOfChange(before) };
        await transaction.update("api_keys", record);
        return record;
      });
      return new Response(null, { status: 204 });
    },
  });
}

function secretOf(key: string): Pick<StoredApiKey, "hash" | "prefix"> {
  return { hash: hashApiKey(key), prefix: apiKeyPrefix(key) };
}

function shown(key: StoredApiKey): ApiKey {
  return withoutFields({ ...key }, ["hash"]) as unknown as ApiKey;
}

async function requireActive(transaction: Transaction, caller: Caller, id: string): Promise<StoredApiKey> {
  const key = await transaction.get("api_keys", id);
  if (key === null) throw notFound("api_keys", id);
  requireMatch(caller, shown(key));
  if (!key.active) throw new GatehouseError("api_key_revoked", "This API key is revoked; create a new one.");
  return key;
}

function patched(before: StoredApiKey, body: JsonObject) {
  for (const name of Object.keys(body)) {
    if (API_KEY_MUTABLE_FIELDS.includes(name) || KEY_READ_ONLY.includes(name)) continue;
    const fixed = name === "subject" || name === "subject_type";
    const message = fixed
      ? "cannot be changed; create a new key"
      : unknownNameMessage(name, API_KEY_MUTABLE_FIELDS);
    if (!fixed || before[name] !== body[name]) throw validationError([{ path: name, message }]);
  }
  const { name, subject_type, subject, policies, expires_at } = before;
  const mutable = Object.fromEntries(
    Object.entries(body).filter(([field]) => API_KEY_MUTABLE_FIELDS.includes(field)),
  );
  const fields = validate(
    apiKeySchema,
    mergePatch({ name, subject_type, subject, policies, expires_at }, mutable),
  );
  // An expired key may be renamed: only a time that is newly given has to lie ahead.
  if (fields.expires_at !== before.expires_at) refusePast(fields.expires_at);
  return fields;
}

function refusePast(expiresAt: string | null): void {
  if (expiresAt === null || Date.parse(expiresAt) > Date.now()) return;
  throw validationError([{ path: "expires_at", message: "must lie in the future" }]);
}
