// Admin tokens: named, expiring, revocable. The token itself is shown on creation only; DELETE revokes it and keeps its record.
import { z } from "zod";
import type { Clock } from "../../base/clock.ts";
import { GatehouseError, validationError, type ErrorDetail } from "../../base/errors.ts";
import { adminTokenPrefix, hashApiKey, newAdminToken, newId } from "../../base/ids.ts";
import { mergePatch, type JsonObject } from "../../base/json.ts";
import { adminTokenChangeSchema, adminTokenSchema } from "../../model/admin-token.ts";
import { omit, READ_ONLY_FIELDS, timeOfChange } from "../../model/record.ts";
import { rejectUnknownFields, validate } from "../../model/validate.ts";
import type { StoredAdminToken } from "../../store/admin-tokens.ts";
import type { IdentityStore } from "../../store/sql-identities.ts";
import type { Store } from "../../store/store.ts";
import { readResponse, recordResponse, requireMatch } from "../etag.ts";
import { boundedListQuery, isStoreOrder, pageOfAll } from "../bounded-list.ts";
import { listQuery, listResponse } from "../list-query.ts";
import { addOperation, type Call, type Caller, type PathParameters, type RouteTable } from "../operation.ts";
import { rejectReadOnly, withoutFields } from "../record-fields.ts";
import { recordFieldSchemas, timeSchema } from "../record-schemas.ts";

const DEFAULT_LIFETIME_MS = 90 * 86_400_000;
const READ_ONLY = [...READ_ONLY_FIELDS, "token", "prefix", "active", "last_used_at", "created_by"];
/** Fields that are fixed when the token is created. They may be sent back unchanged. */
const FIXED = ["role", "gateways"];

export const shownAdminTokenSchema = adminTokenSchema.extend({
  ...recordFieldSchemas,
  expires_at: timeSchema,
  prefix: z.string().meta({ description: "The first 15 characters of the token." }),
  active: z.boolean().meta({ description: "False: the token is revoked." }),
  last_used_at: timeSchema.nullable().meta({ description: "Accurate to about a minute." }),
  created_by: z.string().meta({ description: "Name of the administrator who created the token." }),
});

/** The response to creation. */
export const adminTokenWithTokenSchema = shownAdminTokenSchema.extend({ token: z.string() });

const EXAMPLE = { name: "deploy pipeline", role: "operator", expires_at: "2030-01-01T00:00:00Z" };
const tag = "admin tokens";
const collection = "/iam/admin-tokens";
const one = `${collection}/{admin_token_id}`;
const access = { role: "owner" } as const;
const SORT_FIELDS = ["name", "role", "expires_at", "last_used_at"] as const;
const tokensQuery = boundedListQuery(...SORT_FIELDS).extend({ name: listQuery.shape.name });
/** The store keeps at most 1,000 admin tokens. */
const ALL = { limit: Number.MAX_SAFE_INTEGER, offset: 0 };

export function addAdminTokenRoutes(table: RouteTable, store: Store): void {
  const { identities } = store;
  addOperation(table, {
    method: "get",
    path: "/iam/me",
    tag,
    summary: "Get the administrator who sends the request, with role and gateways",
    access: { role: "viewer", limited: "shared" },
    response: { status: 200, schema: "Me", description: "The administrator." },
    handle: ({ caller: { identity } }) => {
      const { actor, role, gateways, expiresAt } = identity;
      return Promise.resolve(Response.json({ actor, role, gateways, expires_at: expiresAt }));
    },
  });
  addReadRoutes(table, identities);
  addCreateRoute(table, store);
  addChangeRoutes(table, identities);
}

function addReadRoutes(table: RouteTable, identities: IdentityStore): void {
  addOperation(table, {
    method: "get",
    path: collection,
    tag,
    summary: "List admin tokens",
    access,
    query: tokensQuery,
    response: {
      status: 200,
      schema: "AdminTokenList",
      description:
        "Oldest first by default, without the tokens themselves. Tokens signed with SERVER_SECRET_KEY are not stored.",
    },
    handle: async ({ query }) => {
      const { records, count } = isStoreOrder(query)
        ? await identities.listAdminTokens(query)
        : pageOfAll(
            (await identities.listAdminTokens({ ...query, ...ALL })).records,
            query,
            ({ name, prefix, role, created_by }) => [name, prefix, role, created_by],
            valueOf,
          );
      return listResponse("admin_tokens", records.map(show), count, query);
    },
  });

  addOperation(table, {
    method: "get",
    path: one,
    tag,
    summary: "Get an admin token",
    access,
    response: { status: 200, schema: "AdminToken", description: "The record, without the token itself." },
    etag: "read",
    handle: async ({ params, caller }) => {
      const found = await identities.getAdminToken(idIn(params));
      if (found === null) throw unknownToken(params);
      return readResponse(caller, show(found));
    },
  });
}

function addCreateRoute(table: RouteTable, store: Store): void {
  addOperation(table, {
    method: "post",
    path: collection,
    tag,
    summary: "Create an admin token",
    access,
    body: "AdminTokenInput",
    bodyExample: EXAMPLE,
    response: {
      status: 201,
      schema: "AdminTokenWithToken",
      description: "The new record with its token. No later response shows this token.",
    },
    etag: "created",
    handle: async ({ body, caller }) => {
      const token = newAdminToken();
      const record = newRecord(body, token, caller.identity.actor.name, table.deadlines.clock);
      await requireGateways(store, record.gateways ?? []);
      caller.audit.export(await store.identities.insertAdminToken(record, caller.origin));
      const headers = { Location: `/api/v1${collection}/${record.id}` };
      return recordResponse(show(record), { status: 201, headers, shownOnce: { token } });
    },
  });
}

function addChangeRoutes(table: RouteTable, identities: IdentityStore): void {
  addOperation(table, {
    method: "patch",
    path: one,
    tag,
    summary: "Change name or expires_at of an admin token (JSON merge patch)",
    access,
    body: "AdminTokenChange",
    bodyExample: { name: "deploy pipeline", expires_at: "2030-01-01T00:00:00Z" },
    response: { status: 200, schema: "AdminToken", description: "The changed record." },
    etag: "changed",
    handle: (call) => patchToken(identities, table.deadlines.clock, call),
  });

  addOperation(table, {
    method: "delete",
    path: one,
    tag,
    summary: "Revoke an admin token. Its record remains.",
    access,
    response: { status: 204, description: "Revoked. The token stops working immediately, on all nodes." },
    etag: "changed",
    handle: async ({ params, caller }) => {
      await changeToken(identities, params, caller, (before) => {
        if (!before.active) return before;
        requireMatch(caller, show(before));
        return { ...before, active: false, updated_at: timeOfChange(before) };
      });
      return new Response(null, { status: 204 });
    },
  });
}

function newRecord(body: JsonObject, token: string, createdBy: string, clock: Clock): StoredAdminToken {
  rejectReadOnly(body, READ_ONLY);
  const fields = validate(adminTokenSchema, body);
  const now = clock.unixNow();
  const { expires_at = new Date(now + DEFAULT_LIFETIME_MS).toISOString() } = fields;
  rejectPast(expires_at, clock);
  const created_at = new Date(now).toISOString();
  return {
    id: newId(),
    name: fields.name,
    role: fields.role,
    gateways: fields.gateways,
    expires_at,
    prefix: adminTokenPrefix(token),
    active: true,
    last_used_at: null,
    created_by: createdBy,
    created_at,
    updated_at: created_at,
    hash: hashApiKey(token),
  };
}

/** A gateway may be deleted later: a token that is limited to it then has access to nothing. */
async function requireGateways(store: Store, ids: readonly string[]): Promise<void> {
  const problems: ErrorDetail[] = [];
  for (const [index, id] of ids.entries())
    if ((await store.get("gateways", id)) === null)
      problems.push({ path: `gateways[${index}]`, message: `there is no gateway "${id}"` });
  if (problems.length > 0) throw validationError(problems);
}

async function patchToken(
  identities: IdentityStore,
  clock: Clock,
  { params, body, caller }: Call<unknown>,
): Promise<Response> {
  const changed = await changeToken(identities, params, caller, (before) => {
    requireMatch(caller, show(before));
    if (!before.active)
      throw new GatehouseError("admin_token_revoked", "This admin token is revoked. Create a new one.");
    const patch = withoutFields(body, READ_ONLY);
    rejectUnknownFields(adminTokenSchema, patch);
    rejectFixed(patch, before);
    const merged = mergePatch(
      { name: before.name, expires_at: before.expires_at },
      withoutFields(patch, FIXED),
    );
    const { name, expires_at = before.expires_at } = validate(adminTokenChangeSchema, merged);
    if (expires_at !== before.expires_at) rejectPast(expires_at, clock);
    return { ...before, name, expires_at, updated_at: timeOfChange(before) };
  });
  return recordResponse(show(changed));
}

async function changeToken(
  identities: IdentityStore,
  params: PathParameters,
  { origin, audit }: Caller,
  change: (before: StoredAdminToken) => StoredAdminToken,
): Promise<StoredAdminToken> {
  const changed = await identities.changeAdminToken(idIn(params), change, origin);
  if (changed === null) throw unknownToken(params);
  audit.export(changed.audit);
  return changed.token;
}

function rejectFixed(patch: JsonObject, { role, gateways }: StoredAdminToken): void {
  const stored: JsonObject = { role, gateways };
  const changed = FIXED.filter((name) => name in patch && !Bun.deepEquals(patch[name], stored[name]));
  if (changed.length > 0)
    throw validationError(
      changed.map((path) => ({ path, message: "cannot be changed; create a new token" })),
    );
}

function rejectPast(expiresAt: string, clock: Clock): void {
  if (Date.parse(expiresAt) > clock.unixNow()) return;
  throw validationError([{ path: "expires_at", message: "must be in the future" }]);
}

function idIn(params: PathParameters): string {
  return params["admin_token_id"] ?? "";
}

function unknownToken(params: PathParameters): GatehouseError {
  return new GatehouseError("not_found", `There is no admin token "${idIn(params).slice(0, 64)}".`);
}

/** A token that was never used sorts before the others. */
function valueOf(token: StoredAdminToken, field: string): string {
  const name = SORT_FIELDS.find((each) => each === field);
  return name === undefined ? "" : (token[name] ?? "");
}

function show(token: StoredAdminToken) {
  return omit(token, "hash");
}
