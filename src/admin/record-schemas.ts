// Schemas of the fields that the server sets, for the OpenAPI document.
import { z } from "zod";

export const timeSchema = z.iso.datetime();

export const recordFieldSchemas = { id: z.uuid(), created_at: timeSchema, updated_at: timeSchema };
export const childFieldSchemas = { ...recordFieldSchemas, gateway_id: z.uuid() };
