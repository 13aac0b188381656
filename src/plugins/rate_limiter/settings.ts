// Settings of rate_limiter (specification 2.7): limits by type, and the action when a limit is reached.
import { windowSeconds, z } from "../../sdk/index.ts";
import type { LabelLimitType } from "./identity.ts";

const MAX_WINDOW_SECONDS = 366 * 86_400;

const windowField = z
  .string()
  .refine(
    (text) => windowSeconds(text) !== null,
    "must be a number and a unit (s, m, h or d), such as 30s or 5m",
  )
  .refine((text) => (windowSeconds(text) ?? 0) <= MAX_WINDOW_SECONDS, "must not be longer than 366 days");

const limitSchema = z.strictObject({
  limit: z.int().min(1).max(1_000_000_000).meta({
    description:
      "Maximum requests in the trailing window. Up to 10000 exact per request; with a larger one a request may be counted for up to 1/60 of the window longer.",
  }),
  window: windowField.meta({ description: "A number and a unit: 30s, 5m, 1h, 1d." }),
});

const NAMED_TYPES: ReadonlySet<string> = new Set([
  "global",
  "per_ip",
  "per_user",
  "per_fingerprint",
  "per_key",
  "per_model",
  "per_tool",
]);
const LABEL_LIMIT = /^per_label:[a-z0-9_-]{1,32}$/;
const MAX_LABEL_LIMITS = 8;

/** Whether the type is `per_label:` and the name of a label. */
export function isLabelLimit(type: string): type is LabelLimitType {
  return LABEL_LIMIT.test(type);
}

export const rateLimiterSettings = z.strictObject({
  limits: z
    .object({
      global: limitSchema.optional().meta({ description: "All requests of the gateway together." }),
      per_ip: limitSchema.optional().meta({ description: "By client address." }),
      per_user: limitSchema
        .optional()
        .meta({ description: "By X-User-ID, else API key, else the body's user." }),
      per_fingerprint: limitSchema
        .optional()
        .meta({ description: "By user, credential, address and User-Agent together." }),
      per_key: limitSchema
        .optional()
        .meta({ description: "By API key. Requests without one share one count." }),
      per_model: limitSchema.optional().meta({
        description:
          "By model: the virtual one or the requested one; else the one that the target gets. Requests without a known one share one count.",
      }),
      per_tool: limitSchema
        .optional()
        .meta({ description: "By called tool of an MCP service. Other requests are not limited." }),
    })
    .catchall(
      limitSchema.meta({
        title: "Label",
        description:
          "per_label:<name>: by the value of a label of the API key. Keys without it are not limited.",
        "x-name-prefix": "per_label:",
      }),
    )
    .superRefine(checkTypes)
    .refine((limits) => Object.keys(limits).length > 0, "must contain at least one limit"),
  actions: z
    .strictObject({
      type: z.enum(["reject", "block"]).default("reject").meta({
        description:
          "reject: 429 until the limit allows requests again; block: 403 until the block is removed or expires.",
      }),
      retry_after: z
        .string()
        .regex(/^\d{1,9}$/, "must be a whole number of seconds, written as a string")
        .optional()
        .meta({
          description: "Value of Retry-After in seconds. Default: the time until the limit allows a request.",
        }),
      block_duration: windowField.optional().meta({
        description: "How long a block lasts: 30s, 5m, 1h, 1d. Default: until an operator removes it.",
      }),
    })
    .prefault({}),
  ipv6_prefix: z.int().min(1).max(128).default(64).meta({
    description:
      "Length of the IPv6 prefix that per_ip counts as one client: a customer usually has a whole /64.",
  }),
  on_store_failure: z.enum(["local", "open", "closed"]).default("local").meta({
    description:
      "If the shared counters are unavailable: limits counted per node (local), no limits (open) or 503 (closed).",
  }),
});

function checkTypes(limits: Readonly<Record<string, unknown>>, context: z.RefinementCtx): void {
  const others = Object.keys(limits).filter((type) => !NAMED_TYPES.has(type));
  for (const type of others)
    if (!isLabelLimit(type))
      context.addIssue({
        code: "custom",
        path: [type],
        message:
          "is not known; give global, per_ip, per_user, per_fingerprint, per_key, per_model, per_tool or per_label:<name>",
      });
  if (others.length > MAX_LABEL_LIMITS)
    context.addIssue({ code: "custom", message: `must not contain more than ${MAX_LABEL_LIMITS} labels` });
}

export type RateLimiterSettings = z.output<typeof rateLimiterSettings>;
