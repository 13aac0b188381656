// The OpenAPI document: component schemas made from the same schemas that validate, and the document around them.
import { z } from "zod";
import { ERRORS } from "../base/errors.ts";
import { FORMAT_NAMES } from "../formats/format-names.ts";
import { apiKeySchema } from "../model/api-key.ts";
import { explainRequestSchema, explanationSchema } from "../model/explanation.ts";
import { documentSchema } from "../model/document.ts";
import { gatewaySchema } from "../model/gateway.ts";
import { PLUGIN_STAGES } from "../model/plugin-stage.ts";
import { pricesSchema } from "../model/price.ts";
import { ruleSchema } from "../model/rule.ts";
import { serviceSchema } from "../model/service.ts";
import { upstreamSchema } from "../model/upstream.ts";
import { OBSERVATION_SCHEMAS } from "./observation-schemas.ts";
import type { RouteTable } from "./operation.ts";

type JsonSchema = Record<string, unknown>;

const time = z.iso.datetime();
const recordFields = { id: z.uuid(), created_at: time, updated_at: time };
const childFields = { ...recordFields, gateway_id: z.uuid() };
const keyFields = { ...childFields, prefix: z.string(), active: z.boolean(), last_used_at: time.nullable() };

const revisionSchema = z.object({
  revision: z.int(),
  created_at: time,
  subject: z.string().nullable().meta({ description: "`sub` of the token that wrote." }),
  action: z.enum(["create", "update", "delete", "rollback", "apply"]),
  resource: z.string().meta({ description: "gateway, upstream, …; prices; configuration: several records." }),
  resource_id: z.string().nullable(),
  gateway_id: z.string().nullable(),
  name: z.string().nullable(),
});

const fieldChanges = z.array(z.object({ path: z.string(), before: z.unknown(), after: z.unknown() }));

/** What is neither a record nor a list of records. */
const ANSWERS = {
  RevisionWithDiff: revisionSchema.extend({
    diff: fieldChanges,
    diff_left_out: z.int().optional().meta({ description: "Lines that were too many to be told." }),
  }),
  Applied: z.object({
    changes: z.array(
      z.object({
        action: z.enum(["create", "update", "delete", "none"]),
        resource: z.enum(["gateway", "upstream", "service", "rule", "api_key"]),
        gateway: z.string(),
        name: z.string(),
        diff: fieldChanges,
        key: z.string().optional().meta({ description: "Of a new API key without key_sha256, this once." }),
      }),
    ),
    revision: z.int(),
  }),
  Rollback: z.object({
    revision: z.int(),
    not_undone: z
      .array(z.object({ api_key_id: z.string(), name: z.string(), reason: z.enum(["revoked", "rotated"]) }))
      .meta({ description: "API keys whose end since then stands." }),
  }),
};

/** Name, what a client sends (if anything), what it gets, and the key of its list. */
const RESOURCES = [
  ["Gateway", gatewaySchema, gatewaySchema.extend(recordFields), "gateways"],
  ["Upstream", upstreamSchema, upstreamSchema.extend(childFields), "upstreams"],
  ["Service", serviceSchema, serviceSchema.extend(childFields), "services"],
  ["Rule", ruleSchema, ruleSchema.extend(childFields), "rules"],
  ["ApiKey", apiKeySchema, apiKeySchema.extend(keyFields), "api_keys"],
  [
    "Block",
    null,
    z.object({ id: z.uuid(), type: z.string(), subject: z.string(), created_at: time }),
    "blocks",
  ],
  [
    "Plugin",
    null,
    z.object({
      name: z.string(),
      description: z.string(),
      stages: z.array(z.enum(PLUGIN_STAGES)),
      settings_schema: z.record(z.string(), z.unknown()),
      builtin: z.boolean(),
    }),
    "plugins",
  ],
  [
    "Provider",
    null,
    z.object({
      name: z.string(),
      base_url: z.string().nullable(),
      format: z.enum(FORMAT_NAMES),
      default_path: z.string(),
    }),
    "providers",
  ],
  ["Revision", null, revisionSchema, "revisions"],
] as const;

const whole = z.int().min(0);
const usageSums = {
  requests: whole.meta({ description: "Chats that were answered, and others that told of tokens." }),
  partial_requests: whole.meta({ description: "Those of them whose tokens are not known in full." }),
  input_tokens: whole,
  output_tokens: whole,
  cost: z.number().meta({ description: "US dollars, as far as prices were known." }),
};
const usageGroups = {
  day: z.iso.date().optional(),
  model: z.string().nullable().optional(),
  api_key_id: z.string().nullable().optional(),
  api_key: z.string().nullable().optional(),
};
const usageSchema = z.object({
  usage: z.array(z.object({ ...usageGroups, ...usageSums })),
  from: z.iso.date(),
  to: z.iso.date(),
  total: z.object(usageSums),
});
const shownPricesSchema = pricesSchema.extend({
  builtin: z.boolean().meta({ description: "Whether these are the built-in ones." }),
  updated_at: time,
});

const errorSchema = z.object({
  error: z.string().meta({ description: "One sentence for a person." }),
  code: z.enum(Object.keys(ERRORS) as [string, ...string[]]).meta({ description: "Stable, for programs." }),
  request_id: z.string(),
  details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  retry_after: z.string().optional(),
});

export function registerComponents({ app }: RouteTable): void {
  const components = new Map<string, JsonSchema>();
  for (const [name, input, output, plural] of RESOURCES) {
    collect(components, name, output, "output");
    components.set(`${name}List`, listOf(name, plural));
    if (input === null) continue;
    collect(components, `${name}Input`, input, "input");
    components.set(`${name}Patch`, patchOf(components.get(`${name}Input`) ?? {}));
  }
  collect(components, "ApiKeyWithKey", apiKeySchema.extend({ ...keyFields, key: z.string() }), "output");
  collect(components, "UsageReport", usageSchema, "output");
  collect(components, "Prices", shownPricesSchema, "output");
  collect(components, "PricesInput", pricesSchema, "input");
  collect(components, "ExplainInput", explainRequestSchema, "input");
  collect(components, "Explanation", explanationSchema, "output");
  collect(components, "DocumentInput", documentSchema, "input");
  for (const [name, schema] of Object.entries(ANSWERS)) collect(components, name, schema, "output");
  collect(components, "Error", errorSchema, "output");
  for (const [name, schema] of OBSERVATION_SCHEMAS) collect(components, name, schema, "output");
  for (const [name, schema] of components) app.openAPIRegistry.registerComponent("schemas", name, schema);
  app.openAPIRegistry.registerComponent("securitySchemes", "admin_token", {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "Made by scripts/generate_jwt_token.sh.",
  });
}

export function openApiDocument({ app }: RouteTable, version: string): JsonSchema {
  return app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Gatehouse Admin API",
      version,
      description: "Gateways, upstreams with targets, services, rules, API keys and plugins of a Gatehouse.",
      license: { name: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
  }) as unknown as JsonSchema;
}

/** Adds a schema and those it refers to. As an input a part differs from its output, so it gets a name of its own. */
function collect(
  components: Map<string, JsonSchema>,
  name: string,
  schema: z.ZodType,
  io: "input" | "output",
): void {
  const suffix = io === "input" ? "Input" : "";
  const json = z.toJSONSchema(schema.meta({ id: name }), { io, target: "draft-2020-12" });
  const text = JSON.stringify(json).replaceAll(/"#\/\$defs\/(\w+)"/g, (_, part: string) =>
    JSON.stringify(`#/components/schemas/${part === name ? name : part + suffix}`),
  );
  const { $defs = {}, ...root } = JSON.parse(text) as JsonSchema & { $defs?: Record<string, JsonSchema> };
  if ($defs[name] === undefined) components.set(name, without(root, "$schema", "id"));
  for (const [part, body] of Object.entries($defs)) {
    components.set(part === name ? name : part + suffix, without(body, "id"));
  }
}

function listOf(name: string, plural: string): JsonSchema {
  const whole = { type: "integer", minimum: 0 };
  return {
    type: "object",
    properties: {
      [plural]: { type: "array", items: { $ref: `#/components/schemas/${name}` } },
      count: { ...whole, description: "All that match, not only those on this page." },
      limit: whole,
      offset: whole,
    },
    required: [plural, "count", "limit", "offset"],
  };
}

/** RFC 7396: nothing is required, and null returns a field to its default. */
function patchOf(input: JsonSchema): JsonSchema {
  const properties = Object.entries((input["properties"] ?? {}) as Record<string, JsonSchema>).map(
    ([name, schema]) => {
      const rest = Object.fromEntries(Object.entries(schema).filter(([key]) => key !== "default"));
      return [name, { anyOf: [rest, { type: "null" }] }] as const;
    },
  );
  return { type: "object", properties: Object.fromEntries(properties), additionalProperties: false };
}

function without(schema: JsonSchema, ...keys: readonly string[]): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !keys.includes(key)));
}
