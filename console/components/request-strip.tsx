// Strip of bars above the request log: requests over time by status class. A bar selects its time.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { RequestRecord } from "../api/item-types.ts";
import { countByTime, type TimeBucket } from "../state/request-buckets.ts";
import { formatClock } from "./format.tsx";

interface RequestStripProps {
  readonly records: readonly RequestRecord[];
  readonly onSelect: (bucket: TimeBucket) => void;
}

/** Wide enough for a finger (24 pixels) on every screen. */
const BAR_COUNT = { phone: 12, desktop: 36 };

export function RequestStrip({ records, onSelect }: RequestStripProps): JSX.Element | null {
  const bars = useRef<HTMLDivElement>(null);
  const [focused, setFocused] = useState(0);
  const buckets = countByTime(records, innerWidth < 760 ? BAR_COUNT.phone : BAR_COUNT.desktop);
  const highest = Math.max(1, ...buckets.map(({ total }) => total));
  if (buckets.length === 0) return null;
  const move = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = Math.min(buckets.length - 1, Math.max(0, focused + step));
    setFocused(next);
    const button = bars.current?.children[next];
    if (button instanceof HTMLElement) button.focus();
  };
  return (
    <div class="request-strip">
      <div ref={bars} role="group" aria-label="Requests over time" class="bars" onKeyDown={move}>
        {buckets.map((bucket, index) => (
          <button
            key={bucket.from}
            type="button"
            tabIndex={index === Math.min(focused, buckets.length - 1) ? 0 : -1}
            title={describe(bucket)}
            aria-label={describe(bucket)}
            onClick={() => onSelect(bucket)}
          >
            <Part kind="bad" count={bucket.failed} of={highest} />
            <Part kind="warning" count={bucket.rejected} of={highest} />
            <Part kind="plain" count={bucket.total - bucket.failed - bucket.rejected} of={highest} />
          </button>
        ))}
      </div>
      <div class="range muted">
        <span>{formatClock(new Date(buckets[0]?.from ?? 0))}</span>
        <span>{formatClock(new Date(buckets.at(-1)?.until ?? 0))}</span>
      </div>
    </div>
  );
}

function Part(props: {
  readonly kind: string;
  readonly count: number;
  readonly of: number;
}): JSX.Element | null {
  const { kind, count, of } = props;
  return count === 0 ? null : <span class={kind} style={{ height: `${(count / of) * 100}%` }} />;
}

function describe({ from, until, total, rejected, failed }: TimeBucket): string {
  const errors = rejected + failed === 0 ? "" : `, ${rejected} with status 4xx, ${failed} with status 5xx`;
  return `${formatClock(new Date(from))} to ${formatClock(new Date(until))}: ${total} requests${errors}`;
}
