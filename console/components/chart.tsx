// Time series chart on a canvas, with a text description for screen readers. Charts of a group share one cursor.
import type { Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { themeChanges } from "../state/appearance.ts";

const minute = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const dayAndHour = new Intl.DateTimeFormat(undefined, {
  weekday: "short",
  hour: "numeric",
  minute: "2-digit",
});
const DAY_SECONDS = 86_400;

interface Series {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** CSS custom property without the leading dashes, such as `series-1`. */
  readonly color: string;
  readonly isFilled?: boolean;
}

interface ChartProps {
  readonly title: string;
  /** Unix seconds. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  readonly height?: number;
  /** Index of the time under the pointer, shared by a group of charts; null if there is none. */
  readonly cursor?: Signal<number | null> | undefined;
  /** Called with the index of the time that was clicked. */
  readonly onSelect?: ((index: number) => void) | undefined;
}

export function Chart(props: ChartProps): JSX.Element {
  const { title, times, series, format, height = 150, cursor, onSelect } = props;
  const container = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const shape = series.map(({ label, color }) => label + color).join();
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    const element = container.current;
    if (element === null) return undefined;
    const draw = () => {
      plot.current?.destroy();
      plot.current = new uPlot(
        toPlotOptions(() => latest.current, element),
        toPlotData(latest.current),
        element,
      );
    };
    draw();
    const resizeObserver = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height }),
    );
    resizeObserver.observe(element);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", draw);
    return () => {
      resizeObserver.disconnect();
      scheme.removeEventListener("change", draw);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape, height, themeChanges.value]);

  useEffect(() => {
    plot.current?.setData(toPlotData(latest.current));
  }, [times, series]);

  const at = cursor?.value ?? null;
  useEffect(() => moveCursor(plot.current, at), [at]);

  return (
    <figure class={onSelect === undefined ? "chart" : "chart clickable"}>
      <figcaption>
        <span>{title}</span>
        <ul class="legend">
          {series.map(({ label, color, values }) => (
            <li key={label}>
              <span class={`swatch ${color}`} aria-hidden="true" />
              {label}{" "}
              <strong>{at === null ? formatLast(values, format) : formatAt(values, at, format)}</strong>
            </li>
          ))}
        </ul>
      </figcaption>
      <div ref={container} class="plot" role="img" aria-label={describe(props)} />
    </figure>
  );
}

/** Shows the cursor of the group in a chart that the pointer is not over. */
function moveCursor(plot: uPlot | null, index: number | null): void {
  if (plot === null || (plot.cursor.idx ?? null) === index) return;
  const time = index === null ? undefined : plot.data[0][index];
  plot.setCursor({ left: time === undefined ? -10 : plot.valToPos(time, "x"), top: 0 }, false);
}

function toPlotData({ times, series }: ChartProps): uPlot.AlignedData {
  return [[...times], ...series.map(({ values }) => [...values])] as uPlot.AlignedData;
}

function toPlotOptions(latest: () => ChartProps, element: HTMLElement): uPlot.Options {
  const { series, format, height = 150, times } = latest();
  const style = getComputedStyle(element);
  const color = (name: string) => resolveColor(element, `var(--${name})`);
  const axis = {
    stroke: color("muted"),
    font: `11px ${style.fontFamily}`,
    grid: { stroke: color("border"), width: 1 },
    ticks: { stroke: color("border"), width: 1, size: 4 },
  };
  const isLong = (times.at(-1) ?? 0) - (times[0] ?? 0) > DAY_SECONDS;
  return {
    width: Math.max(element.clientWidth, 100),
    height,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    hooks: {
      ready: [(plot) => listenForClicks(plot, latest)],
      setCursor: [(plot) => shareCursor(plot, latest())],
    },
    scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
    padding: [8, 4, 0, 0],
    axes: [
      {
        ...axis,
        size: 24,
        space: isLong ? 90 : 70,
        // Labels show minutes: a smaller step would repeat labels.
        incrs: [60, 120, 300, 600, 1800, 3600, 7200, 14_400, 21_600, 43_200, DAY_SECONDS, 2 * DAY_SECONDS],
        values: (_: uPlot, ticks: number[]) =>
          ticks.map((tick) => (isLong ? dayAndHour : minute).format(tick * 1000)),
      },
      { ...axis, size: 58, values: (_: uPlot, ticks: number[]) => ticks.map((tick) => format(tick)) },
    ],
    series: [
      {},
      ...series.map((each) => ({
        label: each.label,
        stroke: color(each.color),
        width: 1.5,
        points: { show: true, size: 5, fill: color(each.color), filter: isolatedPoints },
        ...(each.isFilled === true && { fill: translucent(color(each.color), 0.14) }),
      })),
    ],
  };
}

/** Lines connect neighbors only. A value without neighbors is drawn as a point: it would be invisible otherwise. */
function isolatedPoints(plot: uPlot, series: number): number[] {
  const values = plot.data[series] ?? [];
  const isKnown = (index: number) => values[index] !== null && values[index] !== undefined;
  return [...values.keys()].filter((index) => isKnown(index) && !isKnown(index - 1) && !isKnown(index + 1));
}

function listenForClicks(plot: uPlot, latest: () => ChartProps): void {
  plot.over.addEventListener("click", () => {
    const { idx } = plot.cursor;
    if (idx !== null && idx !== undefined) latest().onSelect?.(idx);
  });
  plot.over.addEventListener("mouseleave", () => {
    const { cursor } = latest();
    if (cursor !== undefined) cursor.value = null;
  });
}

function shareCursor(plot: uPlot, { cursor }: ChartProps): void {
  // Only the chart under the pointer sets the cursor; the others follow it.
  if (cursor !== undefined && plot.over.matches(":hover")) cursor.value = plot.cursor.idx ?? null;
}

/** Resolves a CSS value on a temporary element, because a canvas does not support custom properties. */
function resolveColor(element: HTMLElement, value: string): string {
  const probe = document.createElement("span");
  probe.style.color = value;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function translucent(color: string, alpha: number): string {
  return color.replace(/^rgb\((.*)\)$/, `rgba($1, ${alpha})`);
}

function formatAt(
  values: readonly (number | null)[],
  index: number,
  format: (value: number) => string,
): string {
  const value = values[index] ?? null;
  return value === null ? "–" : format(value);
}

function formatLast(values: readonly (number | null)[], format: (value: number) => string): string {
  return formatAt(
    values,
    values.findLastIndex((value) => value !== null),
    format,
  );
}

function describe({ title, series, format }: ChartProps): string {
  const parts = series.map(({ label, values }) => {
    const known = values.filter((value) => value !== null);
    if (known.length === 0) return `${label}: no data`;
    return `${label}: last ${formatLast(values, format)}, highest ${format(Math.max(...known))}`;
  });
  return `${title}. ${parts.join("; ")}`;
}
