// Calendar periods in a time zone: when the hour, day, week or month of an instant starts and ends. Days with a change to or
// from daylight saving time have 23 or 25 hours.

export type PeriodName = "hour" | "day" | "week" | "month" | "total";

/** Unix milliseconds. `end` is excluded; it is Infinity for `total`. */
export interface Period {
  readonly start: number;
  readonly end: number;
}

const SECOND = 1000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const ALWAYS: Period = { start: 0, end: Infinity };

export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

export class CalendarPeriods {
  readonly #name: PeriodName;
  readonly #zone: TimeZone;
  /** Computing a period takes some microseconds, and most requests are in the same one as the request before. */
  #current: Period = { start: 0, end: 0 };

  constructor(name: PeriodName, timezone: string) {
    this.#name = name;
    this.#zone = new TimeZone(timezone);
  }

  /** Returns the period that contains the instant. */
  at(unixMs: number): Period {
    const { start, end } = this.#current;
    if (unixMs < start || unixMs >= end) this.#current = this.#compute(unixMs);
    return this.#current;
  }

  #compute(unixMs: number): Period {
    const zone = this.#zone;
    if (this.#name === "total") return ALWAYS;
    if (this.#name === "hour") return zone.hourAt(unixMs);
    const local = new Date(unixMs + zone.offsetAt(unixMs));
    const [year, month] = [local.getUTCFullYear(), local.getUTCMonth()];
    if (this.#name === "month")
      return {
        start: zone.firstInstant(Date.UTC(year, month)),
        end: zone.firstInstant(Date.UTC(year, month + 1)),
      };
    const days = this.#name === "week" ? 7 : 1;
    // getUTCDay() is 0 on Sunday; weeks start on Monday (ISO 8601).
    const first = local.getUTCDate() - (days === 7 ? (local.getUTCDay() + 6) % 7 : 0);
    return {
      start: zone.firstInstant(Date.UTC(year, month, first)),
      end: zone.firstInstant(Date.UTC(year, month, first + days)),
    };
  }
}

class TimeZone {
  readonly #format: Intl.DateTimeFormat;

  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  }

  /** Returns what has to be added to UTC to get the local time, in milliseconds. */
  offsetAt(unixMs: number): number {
    const fields = new Map(
      this.#format.formatToParts(unixMs).map(({ type, value }) => [type, Number(value)]),
    );
    const at = (type: Intl.DateTimeFormatPartTypes) => fields.get(type) ?? 0;
    const local = Date.UTC(at("year"), at("month") - 1, at("day"), at("hour"), at("minute"), at("second"));
    return local - Math.floor(unixMs / SECOND) * SECOND;
  }

  /** Returns the first instant at which the local time is `local` or later. `local` is written like a time in UTC. */
  firstInstant(local: number): number {
    const [before, after] = [this.offsetAt(local - DAY), this.offsetAt(local + DAY)];
    const instants = [local - before, local - after].sort((a, b) => a - b);
    const found = instants.find((instant) => instant + this.offsetAt(instant) === local);
    // The local time is skipped: clocks change from before it to after it.
    return found ?? this.#firstWithOffset(after, Math.min(...instants), Math.max(...instants));
  }

  /** An hour ends early if the offset changes in it, and one that is repeated is another period. */
  hourAt(unixMs: number): Period {
    const offset = this.offsetAt(unixMs);
    const start = Math.floor((unixMs + offset) / HOUR) * HOUR - offset;
    const end = start + HOUR;
    const [atStart, atEnd] = [this.offsetAt(start), this.offsetAt(end - SECOND)];
    return {
      start: atStart === offset ? start : this.#firstWithOffset(offset, start, unixMs),
      end: atEnd === offset ? end : this.#firstWithOffset(atEnd, unixMs, end),
    };
  }

  /** Returns the first second in (from, to] with this offset, which `to` has and `from` has not. */
  #firstWithOffset(offset: number, from: number, to: number): number {
    let [low, high] = [Math.floor(from / SECOND), Math.ceil(to / SECOND)];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.offsetAt(middle * SECOND) === offset) high = middle;
      else low = middle;
    }
    return high * SECOND;
  }
}
