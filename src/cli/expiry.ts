// The value of --expires: a time, or a duration from now.
import { UsageError } from "./command.ts";

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns null if the flag is not given. */
export function expiry(text: string | undefined): string | null {
  if (text === undefined) return null;
  const [, amount, unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (amount !== undefined) return new Date(Date.now() + Number(amount) * (UNITS[unit] ?? 0)).toISOString();
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text))) return new Date(text).toISOString();
  throw new UsageError(`--expires is "${text}"; give a time such as 2030-01-01T00:00:00Z, or 12h, 30d`);
}
