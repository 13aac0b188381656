// Schema of a point in time that a client sends.
import { z } from "zod";

const isoTime = z.iso.datetime({ offset: true });
const FIRST_MS = Date.parse("0000-01-01T00:00:00.000Z");
const LAST_MS = Date.parse("9999-12-31T23:59:59.999Z");

/** The format alone would accept offsets that do not exist, such as +99:99. */
function isInstant(text: string): boolean {
  return isoTime.safeParse(text).success && !Number.isNaN(Date.parse(text));
}

/** Times are compared as texts: one whose year needs a sign or more digits in UTC would be before all others. */
function hasFourDigitYear(text: string): boolean {
  const time = Date.parse(text);
  return Number.isNaN(time) || (time >= FIRST_MS && time <= LAST_MS);
}

/** An ISO 8601 time with a time zone, converted to UTC. */
export const instantField = z
  .string()
  .refine(isInstant, "must be an ISO 8601 time with a time zone, such as 2030-01-31T00:00:00Z")
  .refine(hasFourDigitYear, "must not be after 9999-12-31T23:59:59.999Z or before the year 0")
  .overwrite((text) => (isInstant(text) ? new Date(text).toISOString() : text));
