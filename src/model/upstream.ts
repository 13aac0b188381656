// Upstream: targets, and how requests are balanced, health-checked, retried, and timed out.
import { z } from "zod";
import { DEFAULT_COMMIT } from "./default-commit.ts";
import { nameField } from "./fields.ts";
import type { ChildFields } from "./record.ts";
import { maskTarget } from "./target-secrets.ts";
import { targetSchema, type Target } from "./target.ts";

const ALGORITHMS = [
  "round-robin",
  "weighted-round-robin",
  "random",
  "least-connections",
  "lowest-latency",
  "ip-hash",
] as const;

export const ON_CANCEL = ["settle", "drain"] as const;

const DAY_MS = 86_400_000;
const milliseconds = z.int().min(1).max(DAY_MS);

const healthChecksSchema = z
  .strictObject({
    passive: z.boolean().default(false).meta({ description: "Eject targets whose requests fail." }),
    threshold: z
      .int()
      .min(1)
      .max(1000)
      .default(3)
      .meta({ description: "Consecutive failures after which a target is ejected." }),
    interval: z
      .int()
      .min(1)
      .max(86_400)
      .default(60)
      .meta({ description: "Seconds until a trial request is sent to an ejected target." }),
  })
  .meta({ id: "HealthChecks" });

const timeoutsSchema = z
  .strictObject({
    connect: milliseconds.default(5000),
    first_byte: milliseconds
      .default(120_000)
      .meta({ description: "Until the response headers are complete." }),
    first_content: milliseconds.nullable().default(null).meta({
      description:
        "Until the first content of a stream, from the start of the attempt. Null: there is no limit.",
    }),
    idle: milliseconds.default(120_000).meta({ description: "Between two chunks of the response body." }),
    total: milliseconds.nullable().default(null),
  })
  .meta({ id: "Timeouts", description: "In milliseconds." });

const commitSchema = z
  .strictObject({
    max_ms: z.int().min(0).max(60_000).default(DEFAULT_COMMIT.max_ms).meta({
      description: "For how many milliseconds at most, from the response headers on. 0: nothing is held.",
    }),
    max_bytes: z
      .int()
      .min(0)
      .max(1_048_576)
      .default(DEFAULT_COMMIT.max_bytes)
      .meta({ description: "How many bytes at most." }),
  })
  .meta({
    id: "Commit",
    description:
      "How much of the start of a stream is held, until its first content, so that another target can be tried.",
  });

const hedgeSchema = z
  .strictObject({
    after: z
      .union([z.literal("p95"), milliseconds])
      .default("p95")
      .meta({
        description:
          "Milliseconds without content after which the request is also sent to another target, at most `timeouts.first_content`. `p95`: the 95th percentile of the latest times to first content.",
      }),
    budget: z
      .number()
      .gt(0, "must be above 0")
      .max(1)
      .default(0.05)
      .meta({ description: "Share of the requests of the last 10 minutes that may be sent twice." }),
  })
  .meta({
    id: "Hedge",
    description: "When a request is also sent to another target because the first one has no content yet.",
  });

export const upstreamSchema = z
  .strictObject({
    name: nameField.meta({ description: "Name of the upstream." }),
    targets: z
      .array(targetSchema)
      .min(1, "must contain at least one target")
      .max(256, "must not contain more than 256 targets")
      .meta({ description: "Provider endpoints." }),
    algorithm: z.enum(ALGORITHMS).default("round-robin").meta({ description: "Load balancing algorithm." }),
    health_checks: healthChecksSchema.prefault({}),
    model_routing: z.enum(["prefer", "any", "require"]).nullable().default(null).meta({
      description:
        "How the model of a request restricts the targets: `require` one that serves it, `prefer` one, or use `any`. With `require`, a request whose model cannot be determined is rejected. Null: a target without `path` gets only requests for models that it serves, or that name none; targets with a `path` are used as with `prefer`.",
    }),
    timeouts: timeoutsSchema.prefault({}),
    commit: commitSchema.nullable().default(null).meta({
      description:
        "Hold the events of a stream that have no content until the first content. A stream that breaks, ends or reports an error before is tried at another target. Null: only where the response is translated, with the default limits.",
    }),
    hedge: hedgeSchema.nullable().default(null).meta({
      description:
        "Send a request that has no content after some time to another target too. The first content is relayed, the other attempt is aborted. Null: requests are not hedged.",
    }),
    on_cancel: z.enum(ON_CANCEL).default("settle").meta({
      description:
        "What happens to a response whose client leaves. `settle`: the provider is stopped, and the tokens that it has generated are estimated. `drain`: the provider is read to its usage for at most 30 seconds, without a client, and the request is settled exactly; at most 100 at a time in each process.",
    }),
    max_attempts: z
      .int()
      .min(1)
      .max(10)
      .default(3)
      .meta({ description: "Maximum number of attempts for one request." }),
  })
  .meta({ id: "Upstream" });

export type UpstreamFields = z.output<typeof upstreamSchema>;
export type Upstream = Omit<UpstreamFields, "targets"> & {
  readonly targets: readonly Target[];
} & ChildFields;

/** Returns an upstream as responses show it: with masked secrets. */
export function maskUpstream(upstream: Upstream): Upstream {
  return { ...upstream, targets: upstream.targets.map(maskTarget) };
}
