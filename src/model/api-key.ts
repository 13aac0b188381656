// API key: who may call the rules of a gateway. The key itself is shown once and kept only as a hash.
import { z } from "zod";
import { idField, nameField } from "./fields.ts";
import type { ChildFields } from "./record.ts";

const isoTime = z.iso.datetime({ offset: true });

/** The format alone lets offsets through that no clock has, such as +99:99. */
function isInstant(text: string): boolean {
  return isoTime.safeParse(text).success && !Number.isNaN(Date.parse(text));
}

const expiresAtField = z
  .string()
  .refine(isInstant, "must be an ISO 8601 time with a zone, such as 2030-01-31T00:00:00Z")
  .overwrite((text) => (isInstant(text) ? new Date(text).toISOString() : text));

const policiesField = z
  .array(idField)
  .max(1000, "must not hold more than 1000 rules")
  .overwrite((ids) => [...new Set(ids)]);

export const apiKeySchema = z
  .strictObject({
    name: nameField.meta({ description: "Key name." }),
    subject_type: z.literal("gateway").default("gateway"),
    subject: idField.meta({ description: "The gateway that the key belongs to." }),
    policies: policiesField
      .default([])
      .meta({ description: "Rules the key is valid for; none means every rule." }),
    expires_at: expiresAtField
      .nullable()
      .default(null)
      .meta({ description: "ISO 8601; unset: never.", format: "date-time" }),
  })
  .meta({ id: "ApiKey" });

export type ApiKeyFields = z.output<typeof apiKeySchema>;

export type ApiKey = ApiKeyFields &
  ChildFields & {
    /** The first characters of the key, to tell keys apart. */
    readonly prefix: string;
    readonly active: boolean;
    readonly last_used_at: string | null;
  };

/** What a `PATCH` may change; the rest of a key is fixed at its creation. */
export const API_KEY_MUTABLE_FIELDS: readonly string[] = ["name", "policies", "expires_at"];
