// Schemas of usage reports, and of the responses that are kept.
import { z } from "zod";

const count = z.int().min(0);

const usageSums = {
  requests: count.meta({
    description: "Chat requests with a response, and other requests that used tokens.",
  }),
  partial_requests: count.meta({ description: "Requests among them whose token counts are incomplete." }),
  input_tokens: count,
  output_tokens: count,
  unpriced_requests: count.meta({
    description:
      "Requests among them whose cost is unknown, because the model has no price or the provider reported no tokens.",
  }),
  cost: z.number().nullable().meta({
    description: "US dollars, without the unpriced requests. Null if all requests are unpriced.",
  }),
};

const cachedSums = {
  cached_requests: count.meta({ description: "Requests among them that kept responses served, at no cost." }),
  saved_input_tokens: count.meta({ description: "Tokens that the kept responses had used." }),
  saved_output_tokens: count,
  saved_cost: z.number().nullable().meta({ description: "US dollars. Null if no kept response has a cost." }),
};

const usageGroups = {
  day: z.iso.date().optional(),
  model: z.string().nullable().optional(),
  api_key_id: z.string().nullable().optional(),
  api_key: z.string().nullable().optional(),
  rule_id: z.string().nullable().optional(),
  rule: z
    .string()
    .nullable()
    .optional()
    .meta({ description: "Name of the rule, or its path if it has none." }),
  provider: z.string().nullable().optional(),
  purpose: z.string().nullable().optional().meta({
    description:
      "`request`: calls for the responses to requests. `hedge`: calls of hedged requests whose responses were not used. `mirror`: copies. `cached`: requests that kept responses served. `plugin`: calls of plugins to services.",
  }),
  gateway_id: z.string().optional(),
  gateway: z.string().nullable().optional().meta({
    description: "Name of the gateway; the last one if it was deleted. Null if it is not known.",
  }),
  gateway_deleted: z.literal(true).optional().meta({
    description: "The gateway no longer exists. Its usage is kept, and continues if a rollback restores it.",
  }),
  labels: z.record(z.string(), z.string().nullable()).optional().meta({
    description:
      "The labels that the sums are grouped by, as the API key had them at the time of the request.",
  }),
};

export const usageSchema = z.object({
  usage: z.array(z.object({ ...usageGroups, ...usageSums, ...cachedSums })),
  from: z.iso.date(),
  to: z.iso.date(),
  total: z.object({ ...usageSums, ...cachedSums }),
});

export const cacheStateSchema = z.object({
  store: z.enum(["memory", "redis"]),
  entries: count,
  bytes: count,
  max_bytes: count.meta({ description: "0 if the gateway has no plugin that keeps responses." }),
  hits: count,
  coalesced: count.meta({ description: "Requests that waited for the response of an equal one." }),
  misses: count,
  kept: count,
  hit_ratio: z.number().nullable(),
  saved_input_tokens: count,
  saved_output_tokens: count,
  saved_cost: z.number().nullable().meta({
    description: "US dollars. Null if none of the hits and coalesced requests has a known cost.",
  }),
  unpriced_requests: count.meta({
    description: "Hits and coalesced requests whose cost is unknown and not included in `saved_cost`.",
  }),
});
