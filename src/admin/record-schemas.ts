// Schemas of the fields that the server sets, for the OpenAPI document.
import { z } from "zod";

export const timeSchema = z.iso.datetime();

export const recordFieldSchemas = { id: z.uuid(), created_at: timeSchema, updated_at: timeSchema };

export const warningsSchema = z.array(
  z.object({
    path: z.string().meta({ description: "The field that the warning is about." }),
    message: z.string(),
  }),
);

export const childFieldSchemas = {
  ...recordFieldSchemas,
  gateway_id: z.uuid(),
  warnings: warningsSchema.optional().meta({
    description:
      "Only in responses to writes, and only if there are any: what is legal in the record, but probably wrong. Read-only.",
  }),
};

/** The resources that revisions change. */
export const resourceSchema = z.enum([
  "gateway",
  "upstream",
  "mcp_server",
  "service",
  "rule",
  "model",
  "budget",
  "game_day",
  "api_key",
  "prices",
]);
