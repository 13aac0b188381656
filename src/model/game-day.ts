// Game day: faults that are injected into some requests of a gateway for a limited time, and what is expected of the gateway.
import { z } from "zod";
import { headersField, idField, nameField } from "./fields.ts";
import { LABEL_NAME } from "./label-name.ts";
import { modelPatternField } from "./model-pattern.ts";
import type { ChildFields } from "./record.ts";
import { instantField } from "./time-field.ts";

/** How long after now a game day may end. */
export const MAX_GAME_DAY_MS = 24 * 3_600_000;

export const FAULT_TYPES = [
  "refuse",
  "delay",
  "status",
  "cut",
  "stall",
  "slow",
  "error_event",
  "empty",
  "truncated_json",
  "missing_usage",
  "redis_away",
] as const;

export type FaultType = (typeof FAULT_TYPES)[number];

const shareField = z.number().gt(0, "must be above 0").max(1, "must be at most 1");
const ratioField = z.number().min(0, "must not be below 0").max(1, "must be at most 1");
const idsField = z
  .array(idField)
  .max(100, "must not contain more than 100 ids")
  .overwrite((ids) => [...new Set(ids)])
  .default([]);

const matchSchema = z.strictObject({
  rules: idsField.meta({ description: "Ids of rules. Empty: all rules." }),
  keys: idsField.meta({ description: "Ids of API keys. Empty: all requests, also those without a key." }),
  labels: z
    .record(z.string().regex(LABEL_NAME, "must have 1 to 32 characters a-z, 0-9, _ and -"), nameField)
    .refine((labels) => Object.keys(labels).length <= 8, "must not contain more than 8 labels")
    .default({})
    .meta({ description: "Labels that the API key must have, with these values." }),
  models: z
    .array(modelPatternField)
    .max(100, "must not contain more than 100 models")
    .overwrite((models) => [...new Set(models)])
    .default([])
    .meta({
      description: "Models that clients request: exact names, or prefixes that end in `*`. Empty: all.",
    }),
  headers: headersField
    .default({})
    .meta({ description: "Headers that the request must have. `*` matches any value." }),
  share: shareField.default(1).meta({ description: "The share of these requests that is affected." }),
});

const faultSchema = z
  .strictObject({
    type: z.enum(FAULT_TYPES).meta({
      description:
        "refuse: no connection. delay: the response starts later. status: an error response. cut: the connection breaks. " +
        "stall: nothing more arrives. slow: a pause before each event. error_event: the stream reports an error. " +
        "empty: no body. truncated_json: half of the JSON. missing_usage: no token counts. " +
        "redis_away: limits and budgets are decided as if Redis were unavailable.",
    }),
    ms: z
      .int()
      .min(1)
      .max(600_000)
      .nullable()
      .default(null)
      .meta({ description: "delay: before the response. slow: before each event. In milliseconds." }),
    status: z.int().min(400).max(599).nullable().default(null).meta({ description: "status: the status." }),
    retry_after: z
      .int()
      .min(0)
      .max(3600)
      .nullable()
      .default(null)
      .meta({ description: "status: seconds in the Retry-After header. Null: no such header." }),
    after_events: z.int().min(0).max(100_000).default(0).meta({
      description:
        "cut, stall, error_event: how many events of a stream arrive before. A response that is no stream is one event.",
    }),
    target_ids: idsField.meta({ description: "Only attempts at these targets. Empty: at all targets." }),
    attempts: z.int().min(1).max(100).nullable().default(null).meta({
      description: "Only the first attempts of each request, this many. Null: all attempts.",
    }),
    share: shareField.default(1).meta({ description: "The share of these attempts that gets the fault." }),
  })
  .superRefine((fault, context) => {
    const report = (path: string, message: string) =>
      context.addIssue({ code: "custom", path: [path], message });
    const { type, ms, status, retry_after, after_events } = fault;
    const needsMs = type === "delay" || type === "slow";
    if (needsMs && ms === null) report("ms", `is required with the type ${type}`);
    if (!needsMs && ms !== null) report("ms", `must be null with the type ${type}`);
    if (type === "status" && status === null) report("status", "is required with the type status");
    if (type !== "status" && status !== null) report("status", `must be null with the type ${type}`);
    if (type !== "status" && retry_after !== null)
      report("retry_after", `must be null with the type ${type}`);
    if (after_events > 0 && !["cut", "stall", "error_event"].includes(type))
      report("after_events", `must be 0 with the type ${type}`);
    if (type === "redis_away" && (fault.target_ids.length > 0 || fault.attempts !== null))
      report("type", "redis_away acts on whole requests: target_ids must be empty and attempts null");
  });

const abortSchema = z.strictObject({
  requests: z.enum(["others", "affected", "all"]).default("others").meta({
    description:
      "The requests of the gateway that are observed: those that are not affected, those that are, or all.",
  }),
  error_ratio: ratioField.nullable().default(null).meta({
    description:
      "Stops if more than this share fails: status 5xx, or an incomplete response. Null: no limit.",
  }),
  p99_ms: z.int().min(1).max(3_600_000).nullable().default(null).meta({
    description:
      "Stops if the 99th percentile of the duration exceeds this many milliseconds. Null: no limit.",
  }),
  min_requests: z.int().min(1).max(1_000_000).default(20).meta({
    description: "Decided only with this many requests in the last 10 seconds on one node.",
  }),
});

const expectSchema = z.strictObject({
  success_ratio: ratioField.nullable().default(null).meta({
    description: "At least this share of the affected requests gets a complete response below 400.",
  }),
  failover_ratio: ratioField.nullable().default(null).meta({
    description: "At least this share of the affected requests succeeds at another attempt than the first.",
  }),
  p99_ms: z.int().min(1).max(3_600_000).nullable().default(null).meta({
    description:
      "The 99th percentile of the duration of affected requests is at most this many milliseconds.",
  }),
  min_requests: z
    .int()
    .min(0)
    .max(1_000_000_000)
    .default(1)
    .meta({ description: "At least this many requests are affected." }),
});

export const gameDaySchema = z
  .strictObject({
    name: nameField.meta({ description: "Name of the game day." }),
    enabled: z.boolean().default(true).meta({ description: "False: stopped." }),
    starts_at: instantField.nullable().default(null).meta({
      description: "ISO 8601 time. Null: when the record is created.",
      format: "date-time",
    }),
    ends_at: instantField.meta({
      description: "ISO 8601 time, at most 24 hours ahead. Nothing is injected afterwards.",
      format: "date-time",
    }),
    match: matchSchema
      .prefault({})
      .meta({ description: "Which requests are affected. All conditions must hold." }),
    max_requests: z.int().min(1).max(1_000_000_000).nullable().default(null).meta({
      description: "At most this many requests are affected, on all nodes together. Null: no limit.",
    }),
    faults: z
      .array(faultSchema)
      .min(1, "must contain at least one fault")
      .max(20, "must not contain more than 20 faults")
      .meta({ description: "Each attempt gets the first of these that applies to it." }),
    abort_if: abortSchema
      .nullable()
      .default(null)
      .meta({ description: "When the game day stops by itself." }),
    expect: expectSchema.prefault({}).meta({ description: "What the verdict checks." }),
    isolated: z.boolean().default(true).meta({
      description:
        "Affected requests use a copy of the health of targets and of the retry budget, so that faults do not change how other requests are served.",
    }),
  })
  .superRefine(({ starts_at, ends_at }, context) => {
    if (starts_at !== null && Date.parse(ends_at) <= Date.parse(starts_at))
      context.addIssue({ code: "custom", path: ["ends_at"], message: "must be after starts_at" });
  })
  .meta({ id: "GameDay" });

export type Fault = z.output<typeof faultSchema>;
export type GameDayAbort = z.output<typeof abortSchema>;
export type GameDayFields = z.output<typeof gameDaySchema>;
export type GameDay = GameDayFields & ChildFields;
