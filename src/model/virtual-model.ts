// Virtual model: a name that clients request, and the upstreams and models that serve it.
import { z } from "zod";
import { canaryOf } from "./canary.ts";
import { idField, nameField } from "./fields.ts";
import { mirrorOf } from "./mirror.ts";
import { modelPatternField } from "./model-pattern.ts";
import type { ChildFields } from "./record.ts";

export const STRATEGIES = [
  "weighted",
  "fallback",
  "lowest-latency",
  "lowest-cost",
  "cache-affinity",
] as const;
export const FALLBACK_REASONS = [
  "unavailable",
  "rate_limited",
  "context",
  "content_filter",
  "budget",
] as const;
const DEFAULT_REASONS: readonly FallbackReason[] = ["unavailable", "rate_limited", "context"];

export type Strategy = (typeof STRATEGIES)[number];
export type FallbackReason = (typeof FALLBACK_REASONS)[number];

const exactNameField = nameField.refine((name) => !name.includes("*"), "must not contain *");

const sentModel = {
  model: exactNameField.nullable().default(null).meta({
    description: "The model that is sent. Null: the name that the client requested.",
  }),
};

const targetFields = {
  ...sentModel,
  weight: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(1)
    .meta({ description: "Relative share of requests. 0: no new requests." }),
};

const targetsOf = <T extends z.ZodType<{ readonly upstream: string; readonly model: string | null }>>(
  target: T,
) =>
  z
    .array(target)
    .min(1, "must contain at least one target")
    .max(32, "must not contain more than 32 targets")
    .superRefine((targets, context) => {
      const first = new Map<string, number>();
      for (const [index, { upstream, model }] of targets.entries()) {
        const key = JSON.stringify([upstream, model]);
        const known = first.get(key);
        if (known === undefined) first.set(key, index);
        else context.addIssue({ code: "custom", path: [index], message: `is the same as targets[${known}]` });
      }
    })
    .meta({ description: "The upstreams and models that serve the name." });

const upstreamId = {
  upstream: idField.meta({ description: "Id of an upstream of the same gateway." }),
};
const upstreamName = {
  upstream: nameField.meta({ description: "Name of an upstream of the same gateway." }),
};

interface SentTo {
  readonly upstream: string;
  readonly model: string | null;
}

interface WithFurtherTargets {
  readonly targets: readonly SentTo[];
  readonly canary: { readonly target: SentTo } | null;
  readonly mirror: { readonly target: SentTo } | null;
}

/** A canary or mirror that is also an ordinary target could not be compared with the others. */
function rejectAmongTargets({ targets, canary, mirror }: WithFurtherTargets, context: z.RefinementCtx): void {
  for (const [name, further] of Object.entries({ canary, mirror })) {
    const { upstream, model } = further?.target ?? {};
    const index = targets.findIndex((target) => target.upstream === upstream && target.model === model);
    if (index < 0) continue;
    const message = `is the same as targets[${index}]`;
    context.addIssue({ code: "custom", path: [name, "target"], message });
  }
}

const fallbackFields = {
  fallback: z
    .array(nameField)
    .max(5, "must not contain more than 5 names")
    .default([])
    .meta({ description: "Names of virtual models that are used instead, in this order." }),
  fallback_on: z
    .array(z.enum(FALLBACK_REASONS))
    .overwrite((reasons) => FALLBACK_REASONS.filter((reason) => reasons.includes(reason)))
    .default([...DEFAULT_REASONS])
    .meta({
      description:
        "Why a virtual model of `fallback` is used: no target is available, all are rate limited, none can hold the " +
        "input, the provider's content filter rejected the request, or a budget is used up.",
    }),
};

export const virtualModelSchema = z
  .strictObject({
    name: modelPatternField.meta({
      description: "The name that clients request; exact, or a prefix that ends in `*`.",
    }),
    aliases: z
      .array(exactNameField)
      .max(64, "must not contain more than 64 names")
      .default([])
      .meta({ description: "Further exact names." }),
    targets: targetsOf(z.strictObject({ ...upstreamId, ...targetFields })),
    strategy: z
      .enum(STRATEGIES)
      .default("weighted")
      .meta({
        description:
          "How a target is chosen: by weight; in the order of the list; by the time to the first token; by the price; " +
          "or so that conversations stay where the provider has cached their beginning.",
      }),
    ...fallbackFields,
    sticky: z.boolean().default(false).meta({
      description: "With the strategy `weighted`: the requests of a conversation go to the same target.",
    }),
    visible: z.boolean().default(true).meta({ description: "Whether GET /v1/models lists the name." }),
    canary: canaryOf(z.strictObject({ ...upstreamId, ...sentModel })),
    mirror: mirrorOf(z.strictObject({ ...upstreamId, ...sentModel })),
  })
  .superRefine(rejectAmongTargets)
  .meta({ id: "VirtualModel" });

/** In documents, upstreams have names instead of ids. */
export const documentVirtualModelSchema = virtualModelSchema.safeExtend({
  targets: targetsOf(z.strictObject({ ...upstreamName, ...targetFields })),
  canary: canaryOf(z.strictObject({ ...upstreamName, ...sentModel })),
  mirror: mirrorOf(z.strictObject({ ...upstreamName, ...sentModel })),
});

export type VirtualModelFields = z.output<typeof virtualModelSchema>;
export type DocumentVirtualModel = z.output<typeof documentVirtualModelSchema>;
export type VirtualModel = VirtualModelFields & ChildFields;
