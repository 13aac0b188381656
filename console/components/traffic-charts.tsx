// Charts of the traffic over time, with one cursor for all of them.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { TrafficPoint } from "../api/item-types.ts";
import { toSeries } from "../state/traffic.ts";
import { Chart } from "./chart.tsx";
import { formatCost, formatCount, formatMs, Time } from "./format.tsx";

interface TrafficChartsProps {
  readonly points: readonly TrafficPoint[];
  /** Length of a point. */
  readonly stepSeconds: number;
  /** Opens what is behind the point that starts at this time (Unix seconds). */
  readonly onSelect?: ((time: number) => void) | undefined;
}

export function TrafficCharts({ points, stepSeconds, onSelect }: TrafficChartsProps): JSX.Element {
  const cursor = useSignal<number | null>(null);
  const series = toSeries(points, stepSeconds);
  const { times } = series;
  const unit = STEP_NAMES[stepSeconds] ?? "step";
  const select = onSelect && ((index: number) => onSelect(times[index] ?? 0));
  const shared = { times, cursor, onSelect: select };
  return (
    <>
      <div class="charts">
        <Chart
          {...shared}
          title={`Requests per ${unit}`}
          format={formatCount}
          series={[
            { label: "Requests", values: series.requests, color: "series-1", isFilled: true },
            { label: "Errors", values: series.errors, color: "series-2" },
          ]}
        />
        <Chart
          {...shared}
          title="Latency"
          format={formatMs}
          series={[
            { label: "p50", values: series.p50, color: "series-1" },
            { label: "p99", values: series.p99, color: "series-4" },
            { label: "First byte", values: series.firstByte, color: "series-3" },
            { label: "First token", values: series.firstToken, color: "series-5" },
          ]}
        />
        <Chart
          {...shared}
          title={`Tokens per ${unit}`}
          format={formatCount}
          series={[
            { label: "Input", values: series.inputTokens, color: "series-3" },
            { label: "Output", values: series.outputTokens, color: "series-4" },
          ]}
        />
        <Chart
          {...shared}
          title={`Cost per ${unit}`}
          format={formatCost}
          series={[{ label: "Cost", values: series.cost, color: "series-5", isFilled: true }]}
        />
      </div>
      {select !== undefined && (
        <TimeSlider
          times={times}
          at={cursor.value}
          onMove={(index) => (cursor.value = index)}
          onSelect={select}
          valueText={(index) =>
            `${series.requests[index] ?? 0} requests, ${series.errors[index] ?? 0} errors`
          }
        />
      )}
    </>
  );
}

const STEP_NAMES: Readonly<Record<number, string>> = {
  1: "second",
  60: "minute",
  900: "15 minutes",
  3600: "hour",
};

interface TimeSliderProps {
  readonly times: readonly number[];
  readonly at: number | null;
  readonly onMove: (index: number | null) => void;
  readonly onSelect: (index: number) => void;
  readonly valueText: (index: number) => string;
}

/** Moves the cursor of the charts from the keyboard. Enter does what a click on the charts does. */
function TimeSlider({ times, at, onMove, onSelect, valueText }: TimeSliderProps): JSX.Element {
  const last = times.length - 1;
  const index = at ?? last;
  const time = new Date((times[index] ?? 0) * 1000);
  return (
    <label class="time-slider">
      <span class="muted">
        {at === null ? (
          "Select a point to see its requests"
        ) : (
          <>
            <Time at={time} />: {valueText(index)}
          </>
        )}
      </span>
      <input
        type="range"
        aria-label="Time in the charts"
        aria-valuetext={`${time.toLocaleString()}: ${valueText(index)}. Press Enter to open the requests.`}
        min={0}
        max={last}
        value={index}
        onInput={(event) => onMove(Number(event.currentTarget.value))}
        onKeyDown={(event) => {
          if (event.key === "Enter") onSelect(index);
        }}
        onBlur={() => onMove(null)}
      />
    </label>
  );
}
