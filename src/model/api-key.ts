// API key: authorizes a client to use rules of a gateway. The key itself is shown once; only its hash is stored.
import { z } from "zod";
import { idField, nameField } from "./fields.ts";
import type { ChildFields } from "./record.ts";

const isoTime = z.iso.datetime({ offset: true });

/** The format alone would accept offsets that do not exist, such as +99:99. */
function isInstant(text: string): boolean {
  return isoTime.safeParse(text).success && !Number.isNaN(Date.parse(text));
}

const expiresAtField = z
  .string()
  .refine(isInstant, "must be an ISO 8601 time with a time zone, such as 2030-01-31T00:00:00Z")
  .overwrite((text) => (isInstant(text) ? new Date(text).toISOString() : text));

const policiesField = z
  .array(idField)
  .max(1000, "must not contain more than 1000 rules")
  .overwrite((ids) => [...new Set(ids)]);

export const apiKeySchema = z
  .strictObject({
    name: nameField.meta({ description: "Name of the key." }),
    subject_type: z.literal("gateway").default("gateway"),
    subject: idField.meta({ description: "The gateway that the key belongs to." }),
    policies: policiesField
      .default([])
      .meta({ description: "Ids of the rules that the key is valid for. Empty: all rules of the gateway." }),
    expires_at: expiresAtField
      .nullable()
      .default(null)
      .meta({ description: "ISO 8601 time. Null: the key does not expire.", format: "date-time" }),
  })
  .meta({ id: "ApiKey" });

export type ApiKeyFields = z.output<typeof apiKeySchema>;

export type ApiKey = ApiKeyFields &
  ChildFields & {
    /** The first characters of the key, so that people can identify it. */
    readonly prefix: string;
    readonly active: boolean;
    readonly last_used_at: string | null;
  };
