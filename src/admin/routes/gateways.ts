// Gateways: the whole set of operations, and the specification's POST that merges.
import { z } from "zod";
import { newId } from "../../base/ids.ts";
import { mergePatch, type JsonObject } from "../../base/json.ts";
import { gatewaySchema, showGateway, type Gateway } from "../../model/gateway.ts";
import { withPluginIds } from "../../model/plugin-config.ts";
import { READ_ONLY_FIELDS } from "../../model/record.ts";
import { rejectUnknownFields, validate } from "../../model/validate.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { Transaction } from "../../store/store.ts";
import { readResponse, recordResponse, requireMatch } from "../etag.ts";
import { listQuery, listResponse } from "../list-query.ts";
import { addOperation, type Method, type RouteTable } from "../operation.ts";
import { refuseReadOnly, timeOfChange, withoutFields } from "../record-fields.ts";
import { LONG_WRITE_MS, requireGateway, writeRecord } from "../write.ts";

const GATEWAY_EXAMPLE = {
  name: "acme",
  subdomain: "acme",
  required_plugins: [
    {
      name: "rate_limiter",
      enabled: true,
      stage: "pre_request",
      priority: 1,
      settings: {
        limits: { global: { limit: 100, window: "1m" }, per_ip: { limit: 20, window: "1m" } },
        actions: { type: "reject", retry_after: "60" },
      },
    },
  ],
};

const deleteQuery = z.strictObject({ cascade: z.enum(["true", "false"]).default("false") });

export function addGatewayRoutes(table: RouteTable, current: CurrentConfiguration): void {
  const tag = "gateways";
  const one = "/gateways/{gateway_id}";
  const idOf = (params: Readonly<Record<string, string>>) => params["gateway_id"] ?? "";

  addOperation(table, {
    method: "get",
    path: "/gateways",
    tag,
    summary: "List gateways",
    query: listQuery,
    answer: { status: 200, schema: "GatewayList", description: "Oldest first." },
    handle: async ({ query }) => {
      const { records, count } = await current.store.list("gateways", query);
      return listResponse("gateways", records.map(showGateway), count, query);
    },
  });

  addOperation(table, {
    method: "post",
    path: "/gateways",
    tag,
    summary: "Create a gateway",
    body: "GatewayInput",
    bodyExample: GATEWAY_EXAMPLE,
    answer: { status: 201, schema: "Gateway", description: "Created; `Location` names it." },
    etag: "created",
    handle: async ({ body, caller }) => {
      refuseReadOnly(body, READ_ONLY_FIELDS);
      const now = new Date().toISOString();
      const fields = validate(gatewaySchema, body);
      const required_plugins = withPluginIds(fields.required_plugins, [], newId);
      const gateway: Gateway = { id: newId(), ...fields, required_plugins, created_at: now, updated_at: now };
      await writeRecord(current, caller, async (transaction) => {
        await transaction.insert("gateways", gateway);
        return gateway;
      });
      return recordResponse(showGateway(gateway), {
        status: 201,
        headers: { Location: `/api/v1/gateways/${gateway.id}` },
      });
    },
  });

  addOperation(table, {
    method: "get",
    path: one,
    tag,
    summary: "Get a gateway",
    answer: { status: 200, schema: "Gateway", description: "The record." },
    etag: "read",
    handle: async ({ params, caller }) =>
      readResponse(caller, showGateway(await requireGateway(current.store, idOf(params)))),
  });

  const addChange = (
    method: Method,
    summary: string,
    schema: string,
    next: (before: unknown, body: JsonObject) => unknown,
  ) =>
    addOperation(table, {
      method,
      path: one,
      tag,
      summary,
      body: schema,
      bodyExample: GATEWAY_EXAMPLE,
      answer: { status: 200, schema: "Gateway", description: "The record as it is now." },
      etag: "changed",
      handle: async ({ params, body, caller }) => {
        const changed = await writeRecord(current, caller, async (transaction) => {
          const before = await requireGateway(transaction, idOf(params));
          requireMatch(caller, showGateway(before));
          rejectUnknownFields(gatewaySchema, withoutFields(body, READ_ONLY_FIELDS));
          const fields = validate(
            gatewaySchema,
            withoutFields(next(showGateway(before), body) as JsonObject, READ_ONLY_FIELDS),
          );
          const { id, created_at } = before;
          const required_plugins = withPluginIds(fields.required_plugins, before.required_plugins, newId);
          const updated_at = timeOfChange(before);
          const gateway: Gateway = { id, ...fields, required_plugins, created_at, updated_at };
          await transaction.update("gateways", gateway);
          return gateway;
        });
        return recordResponse(showGateway(changed));
      },
    });
  addChange("post", "Change a gateway: the fields present change", "GatewayPatch", mergePatch);
  addChange("put", "Replace a gateway", "GatewayInput", (_, body) => body);
  addChange("patch", "Change a gateway (JSON merge patch)", "GatewayPatch", mergePatch);

  addOperation(table, {
    method: "delete",
    path: one,
    tag,
    summary: "Delete a gateway; with parts only by ?cascade=true",
    query: deleteQuery,
    answer: { status: 204, description: "Gone." },
    etag: "changed",
    handle: async ({ params, query, caller }) => {
      const cascade = query.cascade === "true";
      const remove = async (transaction: Transaction) => {
        const gateway = await requireGateway(transaction, idOf(params));
        requireMatch(caller, showGateway(gateway));
        await transaction.removeGateway(gateway.id, cascade);
        return gateway;
      };
      // Every part goes into the log with it.
      await writeRecord(current, caller, remove, cascade ? { deadlineMs: LONG_WRITE_MS } : {});
      return new Response(null, { status: 204 });
    },
  });
}
