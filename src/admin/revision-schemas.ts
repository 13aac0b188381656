// Schemas of the entries in the log of revisions, and of those who made them.
import { z } from "zod";
import { ACTOR_TYPES } from "../model/administrator.ts";
import { timeSchema } from "./record-schemas.ts";

export const actorSchema = z.object({
  type: z.enum(ACTOR_TYPES).meta({
    description:
      "`server_secret`: a token signed with SERVER_SECRET_KEY. `admin_token`: a stored token. `oidc`: a user who signed in. `gatehouse`: the gateway itself.",
  }),
  id: z.string().nullable().meta({ description: "Id of the stored token, or `sub` of the user." }),
  name: z.string(),
});

export const revisionSchema = z.object({
  revision: z.int(),
  created_at: timeSchema,
  subject: z
    .string()
    .nullable()
    .meta({ description: "Name of the administrator; null for a token without `sub`." }),
  actor: actorSchema.nullable().meta({
    description:
      "The administrator who made the change. Null for revisions of versions that did not record it.",
  }),
  action: z.enum(["create", "update", "delete", "rollback", "apply"]),
  resource: z.string().meta({
    description: "`gateway`, `upstream`, …, `prices`, or `configuration` for a change of several records.",
  }),
  resource_id: z.string().nullable(),
  gateway_id: z.string().nullable(),
  name: z.string().nullable(),
  reason: z.string().nullable().meta({
    description: "Why the gateway itself made the change. Null for changes of administrators.",
  }),
});
