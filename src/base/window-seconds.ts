// Durations in the settings of plugins: a number and a unit, such as 30s or 5m.

const WINDOW = /^([1-9]\d{0,8})([smhd])$/;
const SECONDS_PER_UNIT: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Returns the seconds of a duration such as `30s`, `5m`, `1h` or `1d`; null for any other text. */
export function windowSeconds(text: string): number | null {
  const [, count, unit = ""] = WINDOW.exec(text) ?? [];
  const seconds = SECONDS_PER_UNIT[unit];
  return count === undefined || seconds === undefined ? null : Number(count) * seconds;
}
