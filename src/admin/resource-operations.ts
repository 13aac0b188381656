// The one implementation of list, create, get, replace, merge, and delete for all resources.
import { newId } from "../base/ids.ts";
import { mergePatch, type JsonObject } from "../base/json.ts";
import { rejectUnknownFields, validate } from "../model/validate.ts";
import type { CurrentConfiguration } from "../runtime/current-configuration.ts";
import type { Kind, RecordOf } from "../kinds/kind.ts";
import type { Transaction } from "../store/store.ts";
import { readResponse, recordResponse, requireMatch } from "./etag.ts";
import { listResponse, orderOf, RECORD_SORTS, recordQuery, type ListParameters } from "./list-query.ts";
import {
  addOperation,
  type Call,
  type Operation,
  type PathParameters,
  type RouteTable,
} from "./operation.ts";
import { mayAccessGateway, requireGatewayAccess, type Access, type Identity } from "./identity.ts";
import { timeOfChange } from "../model/record.ts";
import { rejectReadOnly, withoutFields } from "./record-fields.ts";
import type { DeleteParameters, Resource } from "./resource.ts";
import { recordWarnings } from "./warnings.ts";
import { LONG_WRITE_MS, requireGateway, requireRecord, unknownRecordError, writeRecord } from "./write.ts";
import type { RecordReader } from "./write.ts";

export function addResource<K extends Kind, Fields>(
  table: RouteTable,
  current: CurrentConfiguration,
  resource: Resource<K, Fields>,
): void {
  addOperation(table, listOperation(current, resource));
  addOperation(table, createOperation(current, resource));
  addOperation(table, getOperation(current, resource));
  if (resource.hasPut) addOperation(table, replaceOperation(current, resource));
  addOperation(table, mergeOperation(current, resource));
  addOperation(table, deleteOperation(current, resource));
}

function listOperation<K extends Kind, Fields>(
  current: CurrentConfiguration,
  resource: Resource<K, Fields>,
): Operation<ListParameters> {
  const { kind, schemaName, plural } = resource;
  const texts = resource.documentation?.list;
  return {
    method: "get",
    path: resource.collection,
    tag: resource.tag,
    summary: texts?.summary ?? `List ${resource.isChild ? `the ${plural} of a gateway` : plural}`,
    access: { role: resource.access.read, limited: "filtered" },
    query: resource.listQuery ?? recordQuery(),
    response: {
      status: 200,
      schema: `${schemaName}List`,
      description: texts?.description ?? "Oldest first, unless `sort` is set.",
    },
    handle: async ({ params, query: { subject, sort = "created_at", ...query }, caller }) => {
      const gatewayId = resource.isChild ? gatewayIdIn(params) : subject;
      if (resource.isChild) await requireGateway(current.store, gatewayIdIn(params));
      const { records, count } = await current.store.list(kind, {
        gatewayId,
        gatewayIds: caller.identity.gateways,
        ...query,
        ...orderOf(sort, RECORD_SORTS),
      });
      return listResponse(
        kind,
        records.map((record) => resource.show(record)),
        count,
        query,
      );
    },
  };
}

function createOperation<K extends Kind, Fields>(
  current: CurrentConfiguration,
  resource: Resource<K, Fields>,
): Operation<unknown> {
  const { kind, schemaName } = resource;
  const texts = resource.documentation?.create;
  return {
    method: "post",
    path: resource.collection,
    tag: resource.tag,
    summary: texts?.summary ?? `Create ${withArticle(resource.singular)}`,
    // An administrator who is limited to some gateways would have no access to a new one.
    access: kind === "gateways" ? { role: resource.access.write } : writeAccess(resource),
    body: `${schemaName}Input`,
    bodyExample: resource.example,
    response: {
      status: 201,
      schema: texts?.schema ?? schemaName,
      description: texts?.description ?? "The new record. `Location` is its URL.",
    },
    etag: "created",
    handle: async ({ params, body, caller }) => {
      rejectReadOnly(body, resource.readOnlyFields);
      const fields = validate(resource.schema, body);
      const now = new Date().toISOString();
      const base = { id: newId(), created_at: now, updated_at: now };
      const { record, shownOnce } = resource.create(fields, base, gatewayIdIn(params));
      if ("gateway_id" in record) requireGatewayAccess(caller.identity, record.gateway_id);
      const insert = async (transaction: Transaction) => {
        await resource.requireParent?.(transaction, record);
        await transaction.insert(kind, record);
        return record;
      };
      await writeRecord(current, caller, insert, { showsSecret: () => shownOnce !== undefined });
      const collection = resource.collection.replace("{gateway_id}", gatewayIdIn(params));
      const headers = { Location: `/api/v1${collection}/${record.id}` };
      return recordResponse(resource.show(record), {
        status: 201,
        headers,
        shownOnce: { ...shownOnce, ...recordWarnings(current, record) },
      });
    },
  };
}

function getOperation<K extends Kind, Fields>(
  current: CurrentConfiguration,
  resource: Resource<K, Fields>,
): Operation<unknown> {
  const texts = resource.documentation?.get;
  return {
    method: "get",
    path: pathOfOne(resource),
    tag: resource.tag,
    summary: texts?.summary ?? `Get ${withArticle(resource.singular)}`,
    access: { role: resource.access.read, limited: "filtered" },
    response: {
      status: 200,
      schema: resource.schemaName,
      description: texts?.description ?? "The record.",
    },
    etag: "read",
    handle: async ({ params, caller }) =>
      readResponse(caller, resource.show(await find(current.store, resource, params, caller.identity))),
  };
}

function replaceOperation<K extends Kind, Fields>(
  current: CurrentConfiguration,
  resource: Resource<K, Fields>,
): Operation<unknown> {
  return {
    method: "put",
    path: pathOfOne(resource),
    tag: resource.tag,
    summary: resource.documentation?.replace?.summary ?? `Replace ${withArticle(resource.singular)}`,
    access: writeAccess(resource),
    body: `${resource.schemaName}Input`,
    bodyExample: resource.example,
    response: { status: 200, schema: resource.schemaName, description: "The changed record." },
    etag: "changed",
    handle: (call) =>
      changeRecord(current, resource, call, (before, updatedAt, newRecordId) =>
        resource.change(before, validateChange(resource, call.body), updatedAt, newRecordId),
      ),
  };
}

export function mergeOperation<K extends Kind, Fields>(
  current: CurrentConfiguration,
  resource: Resource<K, Fields>,
): Operation<unknown> {
  const texts = resource.documentation?.merge;
  return {
    method: "patch",
    path: pathOfOne(resource),
    tag: resource.tag,
    summary: texts?.summary ?? `Change ${withArticle(resource.singular)} (JSON merge patch)`,
    access: writeAccess(resource),
    body: `${resource.schemaName}Patch`,
    bodyExample: resource.patchExample ?? resource.example,
    response: { status: 200, schema: resource.schemaName, description: "The changed record." },
    etag: "changed",
    handle: (call) => {
      const { body } = call;
      const merge = (before: RecordOf[K], updatedAt: string, newRecordId: () => string) => {
        // Merging removes a field that is set to null, so an unknown one has to be found before.
        rejectUnknownFields(resource.schema, withoutFields(body, resource.readOnlyFields));
        // The patch applies to the record as the client sees it, so that an unchanged masked credential is kept.
        const merged = mergePatch(resource.show(before), body);
        return resource.change(before, validateChange(resource, merged), updatedAt, newRecordId);
      };
      return changeRecord(current, resource, call, merge);
    },
  };
}

function deleteOperation<K extends Kind, Fields>(
  current: CurrentConfiguration,
  resource: Resource<K, Fields>,
): Operation<DeleteParameters> {
  const texts = resource.documentation?.delete;
  return {
    method: "delete",
    path: pathOfOne(resource),
    tag: resource.tag,
    summary: texts?.summary ?? `Delete ${withArticle(resource.singular)}`,
    access: writeAccess(resource),
    ...(resource.deleteQuery !== undefined && { query: resource.deleteQuery }),
    response: { status: 204, description: texts?.description ?? "Deleted." },
    etag: "changed",
    handle: async ({ params, query, caller }) => {
      const cascade = query.cascade === "true";
      const remove = async (transaction: Transaction) => {
        const record = await find(transaction, resource, params, caller.identity);
        if (resource.isDeleted?.(record) === true) return record;
        requireMatch(caller, resource.show(record));
        await resource.delete(transaction, record, cascade);
        return record;
      };
      // A cascade records every child record in the history as well.
      await writeRecord(current, caller, remove, cascade ? { deadlineMs: LONG_WRITE_MS } : {});
      return new Response(null, { status: 204 });
    },
  };
}

/** Checks preconditions, writes the changed record, and responds with it, with warnings about it, and with `shownOnce`. */
export async function changeRecord<K extends Kind, Fields>(
  current: CurrentConfiguration,
  resource: Resource<K, Fields>,
  { params, caller }: Pick<Call<unknown>, "params" | "caller">,
  change: (before: RecordOf[K], updatedAt: string, newRecordId: () => string) => RecordOf[K],
  shownOnce: JsonObject = {},
): Promise<Response> {
  const write = async (transaction: Transaction) => {
    const before = await find(transaction, resource, params, caller.identity);
    requireMatch(caller, resource.show(before));
    resource.requireMutable?.(before);
    const record = change(before, timeOfChange(before), () => transaction.newId());
    await transaction.update(resource.kind, record);
    return record;
  };
  const showsSecret = () => Object.keys(shownOnce).length > 0;
  const changed = await writeRecord(current, caller, write, { showsSecret });
  return recordResponse(resource.show(changed), {
    shownOnce: { ...shownOnce, ...recordWarnings(current, changed) },
  });
}

/** Validates a complete record. Read-only fields are ignored, so that a record can be sent back as it was read. */
function validateChange<K extends Kind, Fields>(resource: Resource<K, Fields>, body: JsonObject): Fields {
  return validate(resource.schema, withoutFields(body, resource.readOnlyFields));
}

/** A record of a gateway that the administrator has no access to is not found. */
async function find<K extends Kind, Fields>(
  reader: RecordReader,
  { kind, idParameter, isChild }: Resource<K, Fields>,
  params: PathParameters,
  identity: Identity,
): Promise<RecordOf[K]> {
  const id = params[idParameter] ?? "";
  const record = await requireRecord(reader, kind, id, isChild ? gatewayIdIn(params) : null);
  if ("gateway_id" in record && !mayAccessGateway(identity, record.gateway_id))
    throw unknownRecordError(kind, id);
  return record;
}

function writeAccess<K extends Kind, Fields>({ access }: Resource<K, Fields>): Access {
  return { role: access.write, limited: "filtered" };
}

export function pathOfOne<K extends Kind, Fields>({ collection, idParameter }: Resource<K, Fields>): string {
  return `${collection}/{${idParameter}}`;
}

function gatewayIdIn(params: PathParameters): string {
  return params["gateway_id"] ?? "";
}

function withArticle(singular: string): string {
  return /^[aeiou]/i.test(singular) ? `an ${singular}` : `a ${singular}`;
}
