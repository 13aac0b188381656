// Upstream: targets, and how requests are balanced, health-checked, retried, and timed out.
import { z } from "zod";
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
    idle: milliseconds.default(120_000).meta({ description: "Between two chunks of the response body." }),
    total: milliseconds.nullable().default(null),
  })
  .meta({ id: "Timeouts", description: "In milliseconds." });

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
    model_routing: z.enum(["prefer", "any", "require"]).default("prefer").meta({
      description:
        "How the model of a request restricts the targets: `require` one that serves it, `prefer` one, or use `any`. With `require`, a request whose model cannot be determined is rejected.",
    }),
    timeouts: timeoutsSchema.prefault({}),
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
