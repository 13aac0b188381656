// The whole set of operations for a resource that belongs to a gateway: list, get, create, replace, merge, delete.
import type { z } from "zod";
import { newId } from "../base/ids.ts";
import { mergePatch, type JsonObject } from "../base/json.ts";
import { READ_ONLY_FIELDS, type ChildFields } from "../model/record.ts";
import { rejectUnknownFields, validate } from "../model/validate.ts";
import type { CurrentConfiguration } from "../runtime/current-configuration.ts";
import type { RecordOf } from "../store/store.ts";
import { listQuery, listResponse } from "./list-query.ts";
import { readResponse, recordResponse, requireMatch } from "./etag.ts";
import { addOperation, type Call, type RouteTable } from "./operation.ts";
import { refuseReadOnly, timeOfChange, withoutFields } from "./record-fields.ts";
import { requireChild, requireGateway, writeRecord } from "./write.ts";

type ChildKind = "upstreams" | "services" | "rules";

export interface ChildResource<K extends ChildKind, Fields> {
  readonly kind: K;
  /** As the component schema is called: `Upstream`; its input is `UpstreamInput`. */
  readonly schemaName: string;
  readonly singular: string;
  readonly schema: z.ZodType<Fields>;
  readonly example: unknown;
  /** The fields as they are stored, given those sent and, on a change, the record as it was. */
  readonly toStored: (fields: Fields, before: RecordOf[K] | null) => Omit<RecordOf[K], keyof ChildFields>;
  /** The record as it is shown. */
  readonly toShown: (record: RecordOf[K]) => RecordOf[K];
}

export function addChildRoutes<K extends ChildKind, Fields>(
  table: RouteTable,
  current: CurrentConfiguration,
  resource: ChildResource<K, Fields>,
): void {
  const { kind, schemaName, singular } = resource;
  const collection = `/gateways/{gateway_id}/${kind}`;
  const one = `${collection}/{${singular}_id}`;
  const shared = { tag: kind, bodyExample: resource.example };
  const ids = (params: Readonly<Record<string, string>>) =>
    [params["gateway_id"] ?? "", params[`${singular}_id`] ?? ""] as const;

  addOperation(table, {
    ...shared,
    method: "get",
    path: collection,
    summary: `List the ${kind} of a gateway`,
    query: listQuery,
    answer: { status: 200, schema: `${schemaName}List`, description: "Oldest first." },
    handle: async ({ params, query }) => {
      const [gatewayId] = ids(params);
      await requireGateway(current.store, gatewayId);
      const page = await current.store.list(kind, { gatewayId, ...query });
      return listResponse(kind, page.records.map(resource.toShown), page.count, query);
    },
  });

  addOperation(table, {
    ...shared,
    method: "post",
    path: collection,
    summary: `Create ${article(singular)}`,
    body: `${schemaName}Input`,
    answer: { status: 201, schema: schemaName, description: "Created; `Location` names it." },
    etag: "created",
    handle: async ({ params, body, caller }) => {
      const [gateway_id] = ids(params);
      refuseReadOnly(body, READ_ONLY_FIELDS);
      const fields = resource.toStored(validate(resource.schema, body), null);
      const now = new Date().toISOString();
      const record = { id: newId(), gateway_id, ...fields, created_at: now, updated_at: now } as RecordOf[K];
      await writeRecord(current, caller, async (transaction) => {
        await requireGateway(transaction, gateway_id);
        await transaction.insert(kind, record);
        return record;
      });
      return recordResponse(resource.toShown(record), {
        status: 201,
        headers: { Location: `/api/v1/gateways/${gateway_id}/${kind}/${record.id}` },
      });
    },
  });

  addOperation(table, {
    ...shared,
    method: "get",
    path: one,
    summary: `Get ${article(singular)}`,
    answer: { status: 200, schema: schemaName, description: "The record." },
    etag: "read",
    handle: async ({ params, caller }) =>
      readResponse(caller, resource.toShown(await requireChild(current.store, kind, ...ids(params)))),
  });

  const change = async (
    { params, caller }: Pick<Call<unknown>, "params" | "caller">,
    next: (before: RecordOf[K]) => JsonObject,
  ) => {
    const changed = await writeRecord(current, caller, async (transaction) => {
      const before = await requireChild(transaction, kind, ...ids(params));
      requireMatch(caller, resource.toShown(before));
      const fields = resource.toStored(
        validate(resource.schema, withoutFields(next(before), READ_ONLY_FIELDS)),
        before,
      );
      const { id, gateway_id, created_at } = before;
      const record = {
        id,
        gateway_id,
        ...fields,
        created_at,
        updated_at: timeOfChange(before),
      } as RecordOf[K];
      await transaction.update(kind, record);
      return record;
    });
    return recordResponse(resource.toShown(changed));
  };

  addOperation(table, {
    ...shared,
    method: "put",
    path: one,
    summary: `Replace ${article(singular)}`,
    body: `${schemaName}Input`,
    answer: { status: 200, schema: schemaName, description: "The record as it is now." },
    etag: "changed",
    handle: (call) => change(call, () => call.body),
  });

  addOperation(table, {
    ...shared,
    method: "patch",
    path: one,
    summary: `Change ${article(singular)} (JSON merge patch)`,
    body: `${schemaName}Patch`,
    answer: { status: 200, schema: schemaName, description: "The record as it is now." },
    etag: "changed",
    handle: ({ body, ...call }) => {
      rejectUnknownFields(resource.schema, withoutFields(body, READ_ONLY_FIELDS));
      // Merged into what the client sees, so that a masked credential is kept like any other field.
      return change(call, (before) => mergePatch(resource.toShown(before), body) as JsonObject);
    },
  });

  addOperation(table, {
    ...shared,
    method: "delete",
    path: one,
    summary: `Delete ${article(singular)}`,
    answer: { status: 204, description: "Gone." },
    etag: "changed",
    handle: async ({ params, caller }) => {
      await writeRecord(current, caller, async (transaction) => {
        const record = await requireChild(transaction, kind, ...ids(params));
        requireMatch(caller, resource.toShown(record));
        await transaction.remove(kind, record.id);
        return record;
      });
      return new Response(null, { status: 204 });
    },
  });
}

function article(singular: string): string {
  return /^[aeiou]/.test(singular) ? `an ${singular}` : `a ${singular}`;
}
