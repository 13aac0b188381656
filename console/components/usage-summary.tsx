// Totals of the selected period, compared with the period of the same length before it.
import type { JSX } from "preact";
import type { UsageReport } from "../api/types.ts";
import { formatCount, formatPartialCost, formatUnpriced } from "./format.tsx";

type Total = UsageReport["total"];

interface UsageSummaryProps {
  readonly total: Total;
  readonly before: Total;
  readonly days: number;
}

export function UsageSummary({ total, before, days }: UsageSummaryProps): JSX.Element {
  const period = days === 1 ? "day before" : `${days} days before`;
  const tile = (label: string, value: string, select: (sums: Total) => number | null, note = "") => (
    <div class="tile" key={label}>
      <dt>{label}</dt>
      <dd>{value}</dd>
      {note !== "" && <dd class="hint">{note}</dd>}
      <dd class="hint">{compare(select(total), select(before), period)}</dd>
    </div>
  );
  const unpriced = total.unpriced_requests;
  return (
    <section aria-label="Totals">
      <dl class="tiles usage-tiles">
        {tile("Requests", formatCount(total.requests), ({ requests }) => requests)}
        {tile("Input tokens", formatCount(total.input_tokens), ({ input_tokens }) => input_tokens)}
        {tile("Output tokens", formatCount(total.output_tokens), ({ output_tokens }) => output_tokens)}
        {total.cached_requests > 0 &&
          tile(
            "Saved",
            total.saved_cost === null ? "Unpriced" : formatPartialCost(total.saved_cost, 0),
            ({ saved_cost }) => saved_cost,
            `${formatCount(total.cached_requests)} from the cache`,
          )}
        {tile(
          "Cost",
          formatPartialCost(total.cost, unpriced),
          ({ cost }) => cost,
          unpriced === 0 ? "" : formatUnpriced(unpriced),
        )}
      </dl>
    </section>
  );
}

function compare(now: number | null, before: number | null, period: string): string {
  if (now === null || before === null) return `not comparable with the ${period}`;
  if (before === 0) return now === 0 ? `as in the ${period}` : `none in the ${period}`;
  const percent = Math.round(((now - before) / before) * 100);
  if (percent === 0) return `as in the ${period}`;
  return `${percent > 0 ? "+" : "−"}${formatCount(Math.abs(percent))} % compared with the ${period}`;
}
