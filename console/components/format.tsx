// Formats times (in the browser's time zone), durations, counts, and costs.
import type { JSX } from "preact";

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

export function Time({ at }: { readonly at: string | Date }): JSX.Element {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  return (
    <time dateTime={date.toISOString()} title={full.format(date)}>
      {(isToday ? clock : day).format(date)}
    </time>
  );
}

export function formatClock(date: Date): string {
  return clock.format(date);
}

export function formatMs(milliseconds: number): string {
  if (milliseconds >= 10_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  if (milliseconds >= 1000) return `${(milliseconds / 1000).toFixed(2)} s`;
  if (milliseconds >= 10) return `${whole.format(milliseconds)} ms`;
  return `${milliseconds.toFixed(milliseconds >= 1 ? 1 : 2)} ms`;
}

export function formatCount(count: number): string {
  return count < 10_000 ? whole.format(count) : short.format(count);
}

/** Formats US dollars; amounts below one dollar get two significant digits. */
export function formatCost(dollars: number): string {
  if (dollars === 0 || dollars >= 1) return `$${dollars.toFixed(2)}`;
  return `$${String(Number(dollars.toPrecision(2)))}`;
}

/** Formats a cost that does not include `unpriced` requests. Such a cost is a lower bound, and never shown as $0.00. */
export function formatPartialCost(dollars: number | null, unpriced: number): string {
  if (unpriced === 0) return formatCost(dollars ?? 0);
  return dollars === null || dollars === 0 ? "Unpriced" : `≥\u00A0${formatCost(dollars)}`;
}

export function formatUnpriced(count: number): string {
  return `${formatCount(count)} ${count === 1 ? "request" : "requests"} unpriced`;
}
