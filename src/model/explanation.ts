// An explanation: a request that is only asked about, and what would become of it.
import { isIP } from "node:net";
import { z } from "zod";
import { headersField } from "./fields.ts";
import { PLUGIN_STAGES } from "./plugin-stage.ts";
import { HTTP_METHODS } from "./http-methods.ts";

export const explainRequestSchema = z.strictObject({
  method: z
    .string()
    .overwrite((method) => method.toUpperCase())
    .pipe(z.enum(HTTP_METHODS))
    .default("POST"),
  path: z
    .string()
    .max(8192, "must not be longer than 8192 characters")
    .regex(/^\/[^\s#]*$/, 'must start with "/", without blanks and without "#"')
    .meta({ description: "With its query, if any." }),
  headers: headersField.default({}).meta({
    description:
      "As the client would send them. Without a Host the request is taken as meant for this gateway.",
  }),
  body: z.unknown().optional().meta({
    description:
      "A string as it is; anything else as JSON, with that Content-Type unless `headers` name another.",
  }),
  client_address: z
    .string()
    .refine((address) => isIP(address) !== 0, "must be an IP address")
    .default("127.0.0.1")
    .meta({ description: "Where the connection would come from." }),
});

const named = z.object({ id: z.string(), name: z.string() });

export const explanationSchema = z.object({
  gateway: named.nullable().meta({ description: "The gateway that the request is for." }),
  rule: z.object({ id: z.string(), name: z.string().nullable(), path: z.string() }).nullable(),
  rules: z
    .array(z.object({ id: z.string(), path: z.string(), matched: z.boolean(), reason: z.string() }))
    .meta({ description: "Those that fit best first, 200 at most." }),
  authentication: z.object({
    required: z.boolean(),
    api_key: named.nullable(),
    verdict: z.enum(["allowed", "denied"]),
    reason: z.string(),
  }),
  plugins: z.array(
    z.object({
      name: z.string(),
      stage: z.enum(PLUGIN_STAGES),
      verdict: z.enum(["passed", "changed", "answered", "failed", "not_run"]),
      detail: z.string().nullable(),
    }),
  ),
  limits: z
    .array(
      z.object({
        type: z.string(),
        limit: z.int(),
        remaining: z.int(),
        reset: z.iso.datetime(),
        window: z.string(),
      }),
    )
    .meta({ description: "As the answer's headers would tell them: this request is taken off." }),
  targets: z.array(
    z.object({
      id: z.string(),
      provider: z.string(),
      priority: z.int(),
      weight: z.int(),
      state: z.enum(["healthy", "out", "trial", "resting"]),
      eligible: z.boolean(),
      next: z
        .boolean()
        .meta({ description: "It would be asked now. With chance in play no target says so." }),
      reason: z.string(),
      model: z.string().nullable(),
    }),
  ),
  upstream_request: z
    .object({
      target_id: z.string(),
      method: z.string(),
      url: z.string(),
      headers: z.record(z.string(), z.string()),
      body: z.string().nullable(),
    })
    .nullable()
    .meta({ description: "What would be sent first, with credentials masked." }),
  answer: z
    .object({ status: z.int(), code: z.string().nullable(), error: z.string().nullable() })
    .nullable()
    .meta({ description: "What the gateway itself would answer." }),
});

export type ExplainRequest = z.output<typeof explainRequestSchema>;
export type Explanation = z.output<typeof explanationSchema>;
export type ExplainedRule = Explanation["rules"][number];
export type ExplainedTarget = Explanation["targets"][number];
export type ExplainedPlugin = Explanation["plugins"][number];
export type ExplainedLimit = Explanation["limits"][number];

/** Null: no such gateway is in force here. */
export type Explain = (gatewayId: string, request: ExplainRequest) => Promise<Explanation | null>;
