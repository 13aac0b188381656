// Where the time of a request went: one bar a step, on one scale.
import type { JSX } from "preact";
import type { RequestRecord } from "../api/observed.ts";
import { formatMs } from "./time.tsx";

interface Bar {
  readonly label: string;
  readonly start: number;
  readonly ms: number;
  readonly kind: "own" | "good" | "bad" | "answer";
  readonly note?: string;
}

export function Waterfall({ record }: { readonly record: RequestRecord }): JSX.Element {
  const total = Math.max(record.timings.total_ms, 0.01);
  return (
    <ol class="waterfall" aria-label="Where the time went">
      {barsOf(record).map(({ label, start, ms, kind, note }, index) => (
        <li key={index}>
          <span class="what">{label}</span>
          <span class="track" aria-hidden="true">
            <span
              class={`bar ${kind}`}
              style={{
                left: `${Math.min(99.5, (start / total) * 100)}%`,
                width: `${Math.max(0.5, Math.min(100, (ms / total) * 100))}%`,
              }}
            />
          </span>
          <span class="took">
            {formatMs(ms)}
            {note !== undefined && <span class="unseen"> {note}</span>}
          </span>
        </li>
      ))}
    </ol>
  );
}

function barsOf({ timings, attempts }: RequestRecord): Bar[] {
  const bars: Bar[] = [{ label: "Body read", start: 0, ms: timings.body_ms, kind: "own" }];
  if (timings.plugins_ms > 0)
    bars.push({ label: "Plugins", start: timings.body_ms, ms: timings.plugins_ms, kind: "own" });
  for (const { provider, start_ms, ms, first_byte_ms, status, fault } of attempts) {
    const isGood = fault === null && status !== null && status < 400;
    const verdict = fault ?? (status === null ? "no answer" : String(status));
    // An answer is first waited for, then streamed: two bars tell which of them took long.
    const wait = isGood && first_byte_ms !== null ? Math.min(first_byte_ms, ms) : ms;
    bars.push({
      label: `${provider} ${verdict}`,
      start: start_ms,
      ms: wait,
      kind: isGood ? "good" : "bad",
      note: isGood ? "until the first byte" : "failed",
    });
  }
  const { first_byte_ms, total_ms } = timings;
  if (first_byte_ms !== null && total_ms > first_byte_ms)
    bars.push({ label: "Answer sent", start: first_byte_ms, ms: total_ms - first_byte_ms, kind: "answer" });
  return bars;
}
