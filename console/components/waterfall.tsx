// Timing chart of a request: one bar per step on a common scale.
import type { JSX } from "preact";
import type { RequestRecord } from "../api/item-types.ts";
import { formatMs } from "./format.tsx";
import { attemptErrorLabel } from "./labels.ts";

interface Bar {
  readonly label: string;
  readonly start: number;
  readonly ms: number;
  readonly kind: "gateway" | "good" | "bad" | "response";
  readonly note?: string;
}

export function Waterfall({ record }: { readonly record: RequestRecord }): JSX.Element {
  const total = Math.max(record.timings.total_ms, 0.01);
  return (
    <ol class="waterfall" aria-label="Timing">
      {toBars(record).map(({ label, start, ms, kind, note }, index) => (
        <li key={index}>
          <span class="label" title={label}>
            {label}
          </span>
          <span class="track" aria-hidden="true">
            <span
              class={`bar ${kind}`}
              style={{
                left: `${Math.min(99.5, (start / total) * 100)}%`,
                width: `${Math.max(0.5, Math.min(100, (ms / total) * 100))}%`,
              }}
            />
          </span>
          <span class="duration">
            {formatMs(ms)}
            {note !== undefined && <span class="visually-hidden"> {note}</span>}
          </span>
        </li>
      ))}
    </ol>
  );
}

function toBars({ timings, attempts, mcp }: RequestRecord): Bar[] {
  const bars: Bar[] = [{ label: "Read body", start: 0, ms: timings.body_ms, kind: "gateway" }];
  if (timings.plugins_ms > 0)
    bars.push({ label: "Plugins", start: timings.body_ms, ms: timings.plugins_ms, kind: "gateway" });
  for (const { server, method, start_ms, ms, status, fault } of mcp?.calls ?? []) {
    const isGood = fault === null && status !== null && status < 400;
    bars.push({ label: `${server}: ${method}`, start: start_ms, ms, kind: isGood ? "good" : "bad" });
  }
  for (const { provider, start_ms, ms, first_byte_ms, status, fault } of attempts) {
    const isGood = fault === null && status !== null && status < 400;
    const result =
      fault !== null ? attemptErrorLabel(fault) : status === null ? "No response" : String(status);
    // A successful attempt ends at its first byte here. The rest of the response is in later bars.
    const wait = isGood && first_byte_ms !== null ? Math.min(first_byte_ms, ms) : ms;
    bars.push({
      label: `${provider}: ${result}`,
      start: start_ms,
      ms: wait,
      kind: isGood ? "good" : "bad",
      note: isGood ? "to the first byte" : "failed",
    });
  }
  const { first_byte_ms, first_token_ms, total_ms } = timings;
  if (first_byte_ms !== null && first_token_ms !== null)
    bars.push({
      label: "First token",
      start: first_byte_ms,
      ms: first_token_ms - first_byte_ms,
      kind: "good",
      note: "after the first byte",
    });
  const sendStart = first_token_ms ?? first_byte_ms;
  if (sendStart !== null && total_ms > sendStart)
    bars.push({ label: "Send response", start: sendStart, ms: total_ms - sendStart, kind: "response" });
  return bars;
}
