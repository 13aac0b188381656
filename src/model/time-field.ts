// Schema of a point in time that a client sends.
import { z } from "zod";

const isoTime = z.iso.datetime({ offset: true });

/** The format alone would accept offsets that do not exist, such as +99:99. */
function isInstant(text: string): boolean {
  return isoTime.safeParse(text).success && !Number.isNaN(Date.parse(text));
}

/** An ISO 8601 time with a time zone, converted to UTC. */
export const instantField = z
  .string()
  .refine(isInstant, "must be an ISO 8601 time with a time zone, such as 2030-01-31T00:00:00Z")
  .overwrite((text) => (isInstant(text) ? new Date(text).toISOString() : text));
