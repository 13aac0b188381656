// Tiles with the sums and percentiles of a period.
import type { JSX } from "preact";
import type { Traffic } from "../api/types.ts";
import { formatCount, formatMs, formatPartialCost, formatUnpriced } from "./format.tsx";

interface TrafficTilesProps {
  readonly total: Traffic["total"];
  readonly seconds: number;
  /** Name of the period, such as "Last 5 minutes". */
  readonly title: string;
}

export function TrafficTiles({ total, seconds, title }: TrafficTilesProps): JSX.Element {
  const { requests, errors, input_tokens: input, output_tokens: output, unpriced_requests: unpriced } = total;
  const percent = requests === 0 ? 0 : (errors / requests) * 100;
  const tiles: readonly (readonly [label: string, value: string, note: string])[] = [
    ["Requests", formatCount(requests), `${formatRate(requests / seconds)} per second`],
    [
      "Errors",
      `${percent.toFixed(percent > 0 && percent < 10 ? 1 : 0)} %`,
      `${formatCount(errors)} requests`,
    ],
    ["p50", formatOptionalMs(total.p50_ms), "of all requests"],
    ["p99", formatOptionalMs(total.p99_ms), "of all requests"],
    ["First byte", formatOptionalMs(total.first_byte_p50_ms), "p50"],
    ["First token", formatOptionalMs(total.first_token_p50_ms), "p50 of streams"],
    ["Tokens", formatCount(input + output), `${formatCount(input)} in, ${formatCount(output)} out`],
    [
      "Cost",
      formatPartialCost(total.cost, unpriced),
      unpriced === 0 ? "US dollars" : formatUnpriced(unpriced),
    ],
  ];
  return (
    <section class="traffic" aria-label={title}>
      <h2 class="tiles-title">{title}</h2>
      <dl class="tiles">
        {tiles.map(([label, value, note]) => (
          <div class={label === "Errors" && errors > 0 ? "tile bad" : "tile"} key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
            <dd class="hint">{note}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function formatRate(perSecond: number): string {
  return perSecond === 0 || perSecond >= 10 ? perSecond.toFixed(0) : String(Number(perSecond.toPrecision(2)));
}

function formatOptionalMs(value: number | null): string {
  return value === null ? "–" : formatMs(value);
}
