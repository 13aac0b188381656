// A canary: another target of a virtual model that serves a share of its users, and when it is switched off again.
import { z } from "zod";
import { textField } from "./fields.ts";

const CANARY_SUBJECTS = ["api_key", "user", "conversation"] as const;
export type CanarySubject = (typeof CANARY_SUBJECTS)[number];

const ratioField = z.number().min(1, "must be at least 1").max(1000, "must not be greater than 1000");

const rollbackSchema = z.strictObject({
  error_ratio: ratioField.nullable().default(2).meta({
    description:
      "The canary is switched off if its share of failed requests is this many times that of the other targets.",
  }),
  first_byte_ratio: ratioField.nullable().default(null).meta({
    description:
      "The canary is switched off if its mean time to the first byte is this many times that of the other targets.",
  }),
  min_requests: z
    .int()
    .min(1, "must be at least 1")
    .max(100_000, "must not be greater than 100000")
    .default(100)
    .meta({
      description: "Nothing is compared before the canary and the other targets had this many requests each.",
    }),
});

const rolledBackSchema = z.strictObject({
  at: z.iso.datetime().meta({ description: "When the gateway has switched the canary off." }),
  share: z.number().min(0).max(1).meta({ description: "The share that it had." }),
  reason: textField,
});

/** `target` differs between records and documents. */
export function canaryOf<T extends z.ZodType>(target: T) {
  return z
    .strictObject({
      target: target.meta({ description: "The upstream and the model that are tried." }),
      share: z
        .number()
        .min(0, "must be from 0 to 1")
        .max(1, "must be from 0 to 1")
        .meta({ description: "Share of the subjects that the canary serves, from 0 (off) to 1." }),
      by: z.enum(CANARY_SUBJECTS).default("user").meta({
        description:
          "What is assigned to the canary or to the other targets, and stays there: API keys, users of API keys, or conversations.",
      }),
      rollback_if: rollbackSchema
        .nullable()
        .default({ error_ratio: 2, first_byte_ratio: null, min_requests: 100 })
        .meta({ description: "When the gateway sets `share` to 0 by itself. Null: never." }),
      rolled_back: rolledBackSchema.nullable().default(null).meta({
        description: "Set by the gateway when it sets `share` to 0. Null if the share is above 0.",
      }),
    })
    .overwrite((canary) => (canary.share > 0 ? { ...canary, rolled_back: null } : canary))
    .nullable()
    .default(null)
    .meta({ description: "Another target that serves a share of the users." });
}

/** A canary with the name or the id of its upstream. */
interface CanaryFields {
  readonly target: { readonly upstream: string; readonly model: string | null };
  readonly share: number;
  readonly by: CanarySubject;
  readonly rollback_if: z.output<typeof rollbackSchema> | null;
  readonly rolled_back: z.output<typeof rolledBackSchema> | null;
}

/**
 * Returns what to store for the canary of a document: if it is the one that the gateway has switched off, it stays off. Otherwise
 * every `apply` of the same document would switch it on again.
 */
export function keepSwitchedOff<T extends CanaryFields>(wanted: T | null, stored: T | null): T | null {
  if (wanted === null || stored === null || stored.rolled_back === null) return wanted;
  const asBefore = { ...stored, share: stored.rolled_back.share, rolled_back: null };
  return Bun.deepEquals({ ...wanted, rolled_back: null }, asBefore) ? stored : wanted;
}
