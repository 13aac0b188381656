// The OpenAPI document. Its component schemas are derived from the schemas that validate requests.
import { z } from "zod";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { documentSchema } from "../model/document.ts";
import { adminTokenChangeSchema, adminTokenSchema } from "../model/admin-token.ts";
import { connectionTestRequestSchema } from "../model/connection-test.ts";
import { explainRequestSchema } from "../model/explanation.ts";
import { pricesSchema } from "../model/price.ts";
import { ruleMoveSchema } from "../model/rule.ts";
import type { RouteTable } from "./operation.ts";
import { withoutFields } from "./record-fields.ts";
import { READ_ONLY_RECORDS, RESPONSE_SCHEMAS } from "./response-schemas.ts";
import { apiKeys } from "./routes/api-keys.ts";
import { adjustInput, subjectInput } from "./budget-states.ts";
import { approvalInput } from "./mcp-tools.ts";
import { budgets } from "./routes/budgets.ts";
import { gameDays } from "./routes/game-days.ts";
import { gateways } from "./routes/gateways.ts";
import { mcpServers } from "./routes/mcp-servers.ts";
import { virtualModels } from "./routes/models.ts";
import { rules } from "./routes/rules.ts";
import { services } from "./routes/services.ts";
import { upstreams } from "./routes/upstreams.ts";

const RESOURCES = [
  gateways,
  upstreams,
  mcpServers,
  services,
  rules,
  virtualModels,
  budgets,
  gameDays,
  apiKeys,
];

const REQUEST_SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  AdminTokenInput: adminTokenSchema,
  AdminTokenChange: adminTokenChangeSchema.partial(),
  PricesInput: pricesSchema,
  McpToolApprovalInput: approvalInput,
  BudgetReset: subjectInput,
  BudgetAdjustment: adjustInput,
  RuleMove: ruleMoveSchema,
  ExplainInput: explainRequestSchema,
  ConnectionTestInput: connectionTestRequestSchema,
  DocumentInput: documentSchema,
};

export type OpenApiDocument = ReturnType<typeof openApiDocument>;

/** Call it once: it adds the component schemas to the routes of `app`. */
export function openApiDocument({ app }: RouteTable, version: string) {
  for (const [name, schema] of componentSchemas())
    app.openAPIRegistry.registerComponent("schemas", name, schema);
  app.openAPIRegistry.registerComponent("securitySchemes", "admin_token", {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description:
      "Created by scripts/generate_jwt_token.sh, or by POST /iam/admin-tokens. `x-role` of an operation is the least role that may call it.",
  });
  return app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Gatehouse Admin API",
      version,
      description:
        "Manages gateways, upstreams and their targets, MCP servers, services, rules, virtual models, budgets, game days, API keys, and plugins.",
      license: { name: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
  });
}

function componentSchemas(): Map<string, JsonObject> {
  const components = new Map<string, JsonObject>();
  for (const { schemaName, schema, shownSchema, kind } of RESOURCES) {
    collect(components, schemaName, shownSchema, "output");
    components.set(`${schemaName}List`, listSchema(schemaName, kind));
    collect(components, `${schemaName}Input`, schema, "input");
    components.set(`${schemaName}Patch`, patchSchema(components.get(`${schemaName}Input`) ?? {}));
  }
  for (const [name, schema, plural] of READ_ONLY_RECORDS) {
    collect(components, name, schema, "output");
    components.set(`${name}List`, listSchema(name, plural));
  }
  for (const [name, schema] of Object.entries(REQUEST_SCHEMAS)) collect(components, name, schema, "input");
  for (const [name, schema] of Object.entries(RESPONSE_SCHEMAS)) collect(components, name, schema, "output");
  return components;
}

/**
 * Adds a schema and the schemas it refers to. The referred ones get the suffix `Input` in a request, because their fields
 * with a default are optional there and always present in a response.
 */
function collect(
  components: Map<string, JsonObject>,
  name: string,
  schema: z.ZodType,
  io: "input" | "output",
): void {
  const suffix = io === "input" ? "Input" : "";
  const generated = z.toJSONSchema(schema.meta({ id: name }), { io, target: "draft-2020-12" });
  const text = JSON.stringify(generated).replaceAll(/"#\/\$defs\/(\w+)"/g, (_, part: string) =>
    JSON.stringify(`#/components/schemas/${part === name ? name : part + suffix}`),
  );
  const { $defs, ...root } = asObject(JSON.parse(text));
  const parts = asObject($defs);
  if (parts[name] === undefined) components.set(name, withoutFields(root, ["$schema", "id"]));
  for (const [part, body] of Object.entries(parts)) {
    components.set(part === name ? name : part + suffix, withoutFields(asObject(body), ["id"]));
  }
}

function listSchema(name: string, plural: string): JsonObject {
  const count = { type: "integer", minimum: 0 };
  return {
    type: "object",
    properties: {
      [plural]: { type: "array", items: { $ref: `#/components/schemas/${name}` } },
      count: { ...count, description: "Number of all matching records, not only of those on this page." },
      limit: count,
      offset: count,
    },
    required: [plural, "count", "limit", "offset"],
  };
}

/** JSON merge patch (RFC 7396): no field is required, and null resets a field to its default. */
function patchSchema(input: JsonObject): JsonObject {
  const properties = Object.entries(asObject(input["properties"])).map(
    ([name, schema]) =>
      [name, { anyOf: [withoutFields(asObject(schema), ["default"]), { type: "null" }] }] as const,
  );
  return { type: "object", properties: Object.fromEntries(properties), additionalProperties: false };
}

function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
