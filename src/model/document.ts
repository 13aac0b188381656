// Schema of a configuration document: gateways with their records nested, and names instead of ids. `export` writes it,
// `apply` and `check` read it.
import { z } from "zod";
import { apiKeySchema } from "./api-key.ts";
import { budgetSchema } from "./budget.ts";
import { nameField } from "./fields.ts";
import { gatewaySchema } from "./gateway.ts";
import { mcpServerSchema } from "./mcp-server.ts";
import { pricesSchema } from "./price.ts";
import { ruleSchema } from "./rule.ts";
import { documentServiceSchema } from "./service.ts";
import { targetSchema } from "./target.ts";
import { upstreamSchema } from "./upstream.ts";
import { documentVirtualModelSchema } from "./virtual-model.ts";

export const MAX_GATEWAYS = 10_000;
export const MAX_PARTS = 100_000;

const listOf = <T extends z.ZodType>(schema: T) =>
  z.array(schema).max(MAX_PARTS, `must not contain more than ${MAX_PARTS} entries`);

const documentUpstream = upstreamSchema.extend({
  targets: z
    .array(targetSchema.omit({ id: true }))
    .min(1, "must contain at least one target")
    .max(256, "must not contain more than 256 targets")
    .meta({ description: "Provider endpoints." }),
});

const documentRule = ruleSchema.omit({ service_id: true }).extend({
  service: nameField.meta({ description: "Name of a service of the same gateway." }),
});

/** 32 bytes, in hex as most tools print them, or in base64url as they are stored. */
const SHA_256 = /^(?:[0-9a-fA-F]{64}|[A-Za-z0-9_-]{43})$/;

const documentApiKey = apiKeySchema.omit({ subject: true, subject_type: true }).extend({
  policies: z
    .array(z.string().min(1, "must not be empty").max(8192, "must not be longer than 8192 characters"))
    .max(1000, "must not contain more than 1000 rules")
    .default([])
    .meta({ description: "Names or paths of rules of the gateway. Empty: all rules." }),
  key_sha256: z
    .string()
    .regex(SHA_256, "must be a SHA-256 in hex or base64url")
    .overwrite((hash) => (hash.length === 64 ? Buffer.from(hash, "hex").toString("base64url") : hash))
    .nullable()
    .default(null)
    .meta({
      description: "SHA-256 of the key. Null: keep the stored key, or generate one and show it once.",
    }),
  prefix: z
    .string()
    .regex(/^gw_[A-Za-z0-9_-]{0,6}$/, "must be the first characters of the key")
    .nullable()
    .default(null)
    .meta({ description: "The first nine characters of the key whose hash is key_sha256." }),
});

export const documentGateway = gatewaySchema.extend({
  upstreams: listOf(documentUpstream).default([]),
  mcp_servers: listOf(mcpServerSchema).default([]),
  services: listOf(documentServiceSchema).default([]),
  rules: listOf(documentRule).default([]),
  models: listOf(documentVirtualModelSchema).default([]),
  budgets: listOf(budgetSchema).default([]),
  api_keys: listOf(documentApiKey).optional().meta({ description: "Absent: the stored keys do not change." }),
});

/** The schemas of the records in the lists of a gateway. */
export const documentRecords: Readonly<Record<string, z.ZodType>> = {
  upstreams: documentUpstream,
  mcp_servers: mcpServerSchema,
  services: documentServiceSchema,
  rules: documentRule,
  models: documentVirtualModelSchema,
  budgets: budgetSchema,
  api_keys: documentApiKey,
};

export const documentSchema = z
  .strictObject({
    version: z.literal(1).default(1),
    gateways: z
      .array(documentGateway)
      .max(MAX_GATEWAYS, `must not contain more than ${MAX_GATEWAYS} gateways`),
    prices: pricesSchema.shape.prices.nullable().optional().meta({
      description:
        "Prices of models for all gateways. Absent: they do not change. Null: only the built-in prices.",
    }),
  })
  .meta({ id: "Document" });

/** The schemas of records by the name of the resource, with the fields of a document and of the Admin API. */
export const recordSchemas: ReadonlyMap<string, z.ZodObject> = new Map<string, z.ZodObject>([
  ["gateway", gatewaySchema],
  ["upstream", documentUpstream],
  ["mcp_server", mcpServerSchema],
  ["service", documentServiceSchema],
  ["rule", documentRule],
  ["model", documentVirtualModelSchema],
  ["budget", budgetSchema],
  ["api_key", apiKeySchema.extend(documentApiKey.shape)],
  ["prices", pricesSchema],
]);

export type ConfigurationDocument = z.output<typeof documentSchema>;
export type DocumentGateway = z.output<typeof documentGateway>;
export type DocumentUpstream = z.output<typeof documentUpstream>;
export type DocumentApiKey = z.output<typeof documentApiKey>;
