// Settings of rate_limiter (specification 2.7): limits by type, and the action when a limit is reached.
import { z } from "../../sdk/index.ts";

const WINDOW = /^([1-9]\d{0,8})([smhd])$/;
const SECONDS_PER_UNIT: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
const MAX_WINDOW_SECONDS = 366 * 86_400;

/** Returns the seconds of a duration such as `30s`, `5m`, `1h` or `1d`; null for any other text. */
export function windowSeconds(text: string): number | null {
  const [, count, unit = ""] = WINDOW.exec(text) ?? [];
  const seconds = SECONDS_PER_UNIT[unit];
  return count === undefined || seconds === undefined ? null : Number(count) * seconds;
}

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

export const rateLimiterSettings = z.strictObject({
  limits: z
    .strictObject({
      global: limitSchema.optional().meta({ description: "All requests of the gateway together." }),
      per_ip: limitSchema.optional().meta({ description: "By client address." }),
      per_user: limitSchema
        .optional()
        .meta({ description: "By X-User-ID, else API key, else the body's user." }),
      per_fingerprint: limitSchema
        .optional()
        .meta({ description: "By user, credential, address and User-Agent together." }),
    })
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

export type RateLimiterSettings = z.output<typeof rateLimiterSettings>;
