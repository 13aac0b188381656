// Admin token: a named, expiring, revocable token of the Admin API. The token itself is shown once; only its hash is stored.
import { z } from "zod";
import { ADMIN_ROLES } from "./administrator.ts";
import { idField, nameField } from "./fields.ts";
import type { RecordFields } from "./record.ts";
import { instantField } from "./time-field.ts";

const gatewaysField = z
  .array(idField)
  .min(1, "must contain at least one gateway; null allows all gateways")
  .max(1000, "must not contain more than 1000 gateways")
  .overwrite((ids) => [...new Set(ids)]);

export const adminTokenSchema = z
  .strictObject({
    name: nameField.meta({ description: "Name of the token. Revisions and the audit log show it." }),
    role: z.enum(ADMIN_ROLES).default("owner").meta({
      description:
        "`viewer` reads. `operator` also changes everything but API keys, credentials, and administrators. `owner` does everything.",
    }),
    gateways: gatewaysField
      .nullable()
      .default(null)
      .meta({ description: "Ids of the gateways that the token is limited to. Null: all gateways." }),
    expires_at: instantField.optional().meta({
      description: "ISO 8601 time. Default: 90 days after creation.",
      format: "date-time",
    }),
  })
  .meta({ id: "AdminToken" });

/** What can be changed: a token with more rights is a new token. */
export const adminTokenChangeSchema = adminTokenSchema.pick({ name: true, expires_at: true });

type AdminTokenFields = z.output<typeof adminTokenSchema>;

export type AdminToken = Omit<AdminTokenFields, "expires_at"> &
  RecordFields & {
    readonly expires_at: string;
    /** The first characters of the token, so that people can identify it. */
    readonly prefix: string;
    /** False: revoked. */
    readonly active: boolean;
    /** Accurate to about a minute. */
    readonly last_used_at: string | null;
    /** Name of the administrator who created the token. */
    readonly created_by: string;
  };
