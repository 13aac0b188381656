// The configuration as a document: names instead of ids, everything of a gateway below it. Export writes it, apply
// reads it, check judges it.
import { z } from "zod";
import { apiKeySchema } from "./api-key.ts";
import { nameField } from "./fields.ts";
import { gatewaySchema } from "./gateway.ts";
import { ruleSchema } from "./rule.ts";
import { serviceSchema } from "./service.ts";
import { targetSchema } from "./target.ts";
import { upstreamSchema } from "./upstream.ts";

const MAX_GATEWAYS = 10_000;
const MAX_PARTS = 100_000;

const listOf = <T extends z.ZodType>(schema: T) =>
  z.array(schema).max(MAX_PARTS, `must not hold more than ${MAX_PARTS} entries`);

const documentUpstream = upstreamSchema.extend({
  targets: z
    .array(targetSchema.omit({ id: true }))
    .min(1, "must hold at least one target")
    .max(256, "must not hold more than 256 targets")
    .meta({ description: "Provider endpoints." }),
});

const documentService = serviceSchema.omit({ upstream_id: true }).extend({
  upstream: nameField.meta({ description: "The name of an upstream of the same gateway." }),
});

const documentRule = ruleSchema.omit({ service_id: true }).extend({
  service: nameField.meta({ description: "The name of a service of the same gateway." }),
});

/** 32 bytes, in hex as other tools print them or in base64url as they are kept. */
const SHA_256 = /^(?:[0-9a-fA-F]{64}|[A-Za-z0-9_-]{43})$/;

const documentApiKey = apiKeySchema.omit({ subject: true, subject_type: true }).extend({
  policies: z
    .array(z.string().min(1, "must not be empty").max(8192, "must not be longer than 8192 characters"))
    .max(1000, "must not hold more than 1000 rules")
    .default([])
    .meta({ description: "Rules of the gateway by name or path; none means every rule." }),
  key_sha256: z
    .string()
    .regex(SHA_256, "must be a SHA-256 in hex or base64url")
    .overwrite((hash) => (hash.length === 64 ? Buffer.from(hash, "hex").toString("base64url") : hash))
    .nullable()
    .default(null)
    .meta({ description: "Hash of the key. Unset: the key that is there, or a new one, told once." }),
  prefix: z
    .string()
    .regex(/^gw_[A-Za-z0-9_-]{0,6}$/, "must be the first characters of the key")
    .nullable()
    .default(null)
    .meta({ description: "The first nine characters of the key that key_sha256 stands for." }),
});

const documentGateway = gatewaySchema.extend({
  upstreams: listOf(documentUpstream).default([]),
  services: listOf(documentService).default([]),
  rules: listOf(documentRule).default([]),
  api_keys: listOf(documentApiKey).optional().meta({ description: "Absent: nothing is said about keys." }),
});

export const documentSchema = z
  .strictObject({
    version: z.literal(1).default(1),
    gateways: z.array(documentGateway).max(MAX_GATEWAYS, `must not hold more than ${MAX_GATEWAYS} gateways`),
  })
  .meta({ id: "Document" });

export type ConfigurationDocument = z.output<typeof documentSchema>;
export type DocumentGateway = z.output<typeof documentGateway>;
export type DocumentUpstream = z.output<typeof documentUpstream>;
export type DocumentRule = z.output<typeof documentRule>;
export type DocumentApiKey = z.output<typeof documentApiKey>;
