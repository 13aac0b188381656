// Settings of token_limiter: limits by type, one or several of each, and what happens without Redis.
import { windowSeconds, z } from "../../sdk/index.ts";

const MAX_WINDOW_SECONDS = 366 * 86_400;
const MAX_LIMITS_OF_TYPE = 8;
const MODEL_PATTERN = /^[^*]*\*?$/;
const LABEL_LIMIT = /^per_label:[a-z0-9_-]{1,32}$/;
const MAX_LABEL_LIMITS = 8;
const NAMED_TYPES = ["per_ip", "per_user", "per_key", "global"] as const;

export type TokenLimitType = (typeof NAMED_TYPES)[number] | `per_label:${string}`;

const limitSchema = () =>
  z.strictObject({
    limit: z.int().min(1).max(1_000_000_000_000).meta({
      description: "Maximum tokens in the trailing window.",
    }),
    window: z
      .string()
      .refine(
        (text) => windowSeconds(text) !== null,
        "must be a number and a unit (s, m, h or d), such as 30s or 5m",
      )
      .refine((text) => (windowSeconds(text) ?? 0) <= MAX_WINDOW_SECONDS, "must not be longer than 366 days")
      .meta({ description: "A number and a unit: 30s, 5m, 1h, 1d." }),
    count: z.enum(["total", "input", "output"]).default("total").meta({
      description: "Which tokens count: those of the input, of the output, or both.",
    }),
    models: z
      .array(
        z.string().min(1).max(255).regex(MODEL_PATTERN, "must not contain * except as its last character"),
      )
      .min(1)
      .max(100)
      .optional()
      .meta({ description: "Names of models, or prefixes that end in *. Default: all models." }),
  });

export type TokenLimitSettings = z.output<ReturnType<typeof limitSchema>>;

function limitsOfTypeSchema() {
  const limit = limitSchema();
  return z.union([limit, z.array(limit).min(1).max(MAX_LIMITS_OF_TYPE)]);
}

export function tokenLimiterSettings() {
  const limitsOfType = limitsOfTypeSchema();
  return z.strictObject({
    limits: z
      .object({
        global: limitsOfType.optional().meta({ description: "All requests of the gateway together." }),
        per_key: limitsOfType
          .optional()
          .meta({ description: "By API key. Requests without one share one count." }),
        per_user: limitsOfType.optional().meta({
          description:
            "By API key and user id (X-User-ID, else the body's user); by X-User-ID alone with trust_user_header.",
        }),
        per_ip: limitsOfType.optional().meta({ description: "By client address." }),
      })
      .catchall(
        limitsOfType.meta({
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
        type: z
          .enum(["reject"])
          .default("reject")
          .meta({ description: "reject: 429 until the limit has enough tokens again." }),
      })
      .prefault({}),
    ipv6_prefix: z.int().min(1).max(128).default(64).meta({
      description:
        "Length of the IPv6 prefix that per_ip counts as one client: a customer usually has a whole /64.",
    }),
    on_store_failure: z.enum(["local", "open", "closed"]).default("local").meta({
      description:
        "If the shared ledger is unavailable: limits counted per node (local), no limits (open) or 503 (closed).",
    }),
  });
}

export type TokenLimiterSettings = z.output<ReturnType<typeof tokenLimiterSettings>>;

function isLabelLimit(type: string): type is `per_label:${string}` {
  return LABEL_LIMIT.test(type);
}

/** Returns the configured types in the order in which they are checked: the error names the first one, so `global` is last. */
export function typesOf(limits: TokenLimiterSettings["limits"]): TokenLimitType[] {
  const labels = Object.keys(limits).filter(isLabelLimit);
  return [...NAMED_TYPES.slice(0, -1), ...labels, "global" as const].filter(
    (type) => limits[type] !== undefined,
  );
}

function checkTypes(limits: Readonly<Record<string, unknown>>, context: z.RefinementCtx): void {
  const others = Object.keys(limits).filter((type) => !NAMED_TYPES.some((known) => known === type));
  for (const type of others)
    if (!isLabelLimit(type))
      context.addIssue({
        code: "custom",
        path: [type],
        message: "is not known; give global, per_key, per_user, per_ip or per_label:<name>",
      });
  if (others.length > MAX_LABEL_LIMITS)
    context.addIssue({ code: "custom", message: `must not contain more than ${MAX_LABEL_LIMITS} labels` });
}
