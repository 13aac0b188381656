// Gateways. POST /gateways/{gateway_id} merges, like PATCH.
import { z } from "zod";
import { newId } from "../../base/ids.ts";
import { gatewaySchema, showGateway, type GatewayFields } from "../../model/gateway.ts";
import { withPluginIds } from "../../model/plugin-config.ts";
import { READ_ONLY_FIELDS } from "../../model/record.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import { addOperation, type RouteTable } from "../operation.ts";
import { recordFieldSchemas } from "../record-schemas.ts";
import { addResource, mergeOperation } from "../resource-operations.ts";
import type { Resource } from "../resource.ts";

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

export const gateways: Resource<"gateways", GatewayFields> = {
  kind: "gateways",
  singular: "gateway",
  plural: "gateways",
  tag: "gateways",
  access: { read: "viewer", write: "operator" },
  schemaName: "Gateway",
  collection: "/gateways",
  idParameter: "gateway_id",
  isChild: false,
  schema: gatewaySchema,
  shownSchema: gatewaySchema.extend(recordFieldSchemas),
  readOnlyFields: READ_ONLY_FIELDS,
  example: GATEWAY_EXAMPLE,
  hasPut: true,
  documentation: {
    delete: { summary: "Delete a gateway. If it has child records, ?cascade=true is required." },
  },
  deleteQuery: z.strictObject({
    cascade: z.enum(["true", "false"]).default("false").meta({
      description:
        "Also delete the upstreams, MCP servers, services, rules, virtual models, budgets, game days, and API keys of the gateway.",
    }),
  }),
  create: (fields, { id, created_at, updated_at }) => {
    const required_plugins = withPluginIds(fields.required_plugins, [], newId);
    return { record: { id, ...fields, required_plugins, created_at, updated_at } };
  },
  change: ({ id, created_at, ...before }, fields, updated_at, newEntryId) => {
    const required_plugins = withPluginIds(fields.required_plugins, before.required_plugins, newEntryId);
    return { id, ...fields, required_plugins, created_at, updated_at };
  },
  show: showGateway,
  delete: (transaction, { id }, cascade) => transaction.removeGateway(id, cascade),
};

export function addGatewayRoutes(table: RouteTable, current: CurrentConfiguration): void {
  addResource(table, current, gateways);
  addOperation(table, {
    ...mergeOperation(current, gateways),
    method: "post",
    summary: "Change a gateway: the given fields replace the stored ones",
  });
}
