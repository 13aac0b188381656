// Stacked bar chart with one bar per day. Screen readers get the total of each day as text.
import type { JSX } from "preact";

interface DayBarsProps {
  readonly title: string;
  readonly days: readonly string[];
  /** At most six parts; the last one may combine the rest. */
  readonly parts: readonly { readonly label: string; readonly values: readonly number[] }[];
  readonly format: (value: number) => string;
}

const dayName = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });

export function DayBars({ title, days, parts, format }: DayBarsProps): JSX.Element {
  const totals = days.map((_, index) => parts.reduce((total, { values }) => total + (values[index] ?? 0), 0));
  const highest = Math.max(...totals, 0);
  const labelEvery = Math.ceil(days.length / 8);
  return (
    <figure class="chart">
      <figcaption>
        <span>{title}</span>
        <ul class="legend">
          {parts.map(({ label }, index) => (
            <li key={label}>
              <span class={`swatch series-${index + 1}`} aria-hidden="true" /> {label}
            </li>
          ))}
        </ul>
      </figcaption>
      <div class="day-bars">
        <span class="highest" aria-hidden="true">
          {format(highest)}
        </span>
        <ol>
          {days.map((day, index) => (
            <li key={day} title={`${formatDay(day)}: ${format(totals[index] ?? 0)}`}>
              <span class="visually-hidden">
                {formatDay(day)}: {format(totals[index] ?? 0)}
              </span>
              <span class="stack" aria-hidden="true">
                {parts.map(({ label, values }, part) => (
                  <span
                    key={label}
                    class={`series-${part + 1}`}
                    style={{ height: `${highest === 0 ? 0 : ((values[index] ?? 0) / highest) * 100}%` }}
                  />
                ))}
              </span>
              <span class="day" aria-hidden="true">
                {index % labelEvery === 0 ? formatDay(day) : ""}
              </span>
            </li>
          ))}
        </ol>
      </div>
    </figure>
  );
}

function formatDay(day: string): string {
  return dayName.format(new Date(`${day}T00:00:00Z`));
}
