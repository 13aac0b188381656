// Upstream: targets and how to balance, watch and wait for them.
import { z } from "zod";
import { nameField } from "./fields.ts";
import type { ChildFields } from "./record.ts";
import { maskTarget, targetSchema, type Target } from "./target.ts";

export const ALGORITHMS = [
  "round-robin",
  "weighted-round-robin",
  "random",
  "least-connections",
  "lowest-latency",
  "ip-hash",
] as const;

const DAY_MS = 86_400_000;
const milliseconds = z.int().min(1).max(DAY_MS);

export const healthChecksSchema = z
  .strictObject({
    passive: z
      .boolean()
      .default(false)
      .meta({ description: "Watch real requests and take failing targets out." }),
    threshold: z
      .int()
      .min(1)
      .max(1000)
      .default(3)
      .meta({ description: "Failures in a row that take a target out." }),
    interval: z
      .int()
      .min(1)
      .max(86_400)
      .default(60)
      .meta({ description: "Seconds until one request tries it again." }),
  })
  .meta({ id: "HealthChecks" });

export const timeoutsSchema = z
  .strictObject({
    connect: milliseconds.default(5000),
    first_byte: milliseconds
      .default(120_000)
      .meta({ description: "Until the answer's headers are complete." }),
    idle: milliseconds.default(120_000).meta({ description: "Between two chunks of the answer." }),
    total: milliseconds.nullable().default(null),
  })
  .meta({ id: "Timeouts", description: "In milliseconds." });

export const upstreamSchema = z
  .strictObject({
    name: nameField.meta({ description: "Upstream name." }),
    targets: z
      .array(targetSchema)
      .min(1, "must hold at least one target")
      .max(256, "must not hold more than 256 targets")
      .meta({ description: "Provider endpoints." }),
    algorithm: z.enum(ALGORITHMS).default("round-robin").meta({ description: "Balancing algorithm." }),
    health_checks: healthChecksSchema.prefault({}),
    model_routing: z.enum(["prefer", "any", "require"]).default("prefer").meta({
      description: "Whether a target must serve the model that the request names.",
    }),
    timeouts: timeoutsSchema.prefault({}),
    max_attempts: z.int().min(1).max(10).default(3).meta({ description: "Attempts in all for one request." }),
  })
  .meta({ id: "Upstream" });

export type UpstreamFields = z.output<typeof upstreamSchema>;
export type Upstream = Omit<UpstreamFields, "targets"> & {
  readonly targets: readonly Target[];
} & ChildFields;

/** As an upstream is shown: every credential masked. */
export function maskUpstream(upstream: Upstream): Upstream {
  return { ...upstream, targets: upstream.targets.map(maskTarget) };
}
