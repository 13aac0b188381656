// The settings of response_cache.
import { windowSeconds, z } from "../../sdk/index.ts";

const MAX_TTL_SECONDS = 30 * 24 * 3600;
const ISOLATION = /^(?:key|user|gateway|label:[a-z0-9_-]{1,32})$/;
/** Without these, different requests would get the same response. */
const REQUIRED_FIELDS: readonly string[] = [
  "model",
  "messages",
  "input",
  "prompt",
  "system",
  "instructions",
  "tools",
  "query",
  "documents",
];

export const responseCacheSettings = () =>
  z.strictObject({
    ttl: z
      .string()
      .default("1h")
      .refine((text) => isTtl(text), "must be a duration of 1s to 30d, such as 10m or 1h")
      .meta({ description: "How long a response is kept: a number with s, m, h or d." }),
    isolation: z
      .string()
      .default("key")
      .refine((text) => ISOLATION.test(text), "must be key, user, gateway, or label:<name>")
      .meta({
        description:
          "Whose requests may get the same response: those of one API key (`key`), of one user of an API key (`user`), of all API keys with the same value of a label (`label:team`), or all (`gateway`).",
      }),
    vary: z
      .array(z.string().regex(/^[A-Za-z0-9-]{1,64}$/, "must be the name of a header"))
      .max(16)
      .default([])
      .meta({ description: "Request headers whose values are part of the key." }),
    ignore: z
      .array(
        z
          .string()
          .min(1)
          .max(64)
          .refine(
            (name) => !REQUIRED_FIELDS.includes(name),
            "decides about the response; it cannot be ignored",
          ),
      )
      .max(32)
      .default([])
      .meta({
        description: "Fields at the top level of the body that are not part of the key, such as `user`.",
      }),
    max_entry_bytes: z
      .int()
      .min(1024)
      .max(4 * 1024 * 1024)
      .default(1024 * 1024)
      .meta({ description: "Larger responses are not kept." }),
    max_bytes: z
      .int()
      .min(64 * 1024)
      .max(16 * 1024 * 1024 * 1024)
      .default(64 * 1024 * 1024)
      .meta({
        description:
          "What all kept responses may take: in each process, or in Redis. Above it, the least recently used ones are dropped (in Redis: the oldest).",
      }),
    coalesce: z
      .boolean()
      .default(true)
      .meta({ description: "Whether equal requests wait for the response of the first one." }),
  });

export type ResponseCacheSettings = z.output<ReturnType<typeof responseCacheSettings>>;

function isTtl(text: string): boolean {
  const seconds = windowSeconds(text);
  return seconds !== null && seconds >= 1 && seconds <= MAX_TTL_SECONDS;
}
