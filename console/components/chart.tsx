// Time series chart on a canvas, with a text description for screen readers.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

const minute = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });

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
  readonly kind?: "lines" | "bars";
}

export function Chart(props: ChartProps): JSX.Element {
  const { title, times, series, format, height = 150, kind = "lines" } = props;
  const container = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const shape = `${kind} ${series.map(({ label, color: color }) => label + color).join()}`;
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    const element = container.current;
    if (element === null) return undefined;
    const draw = () => {
      plot.current?.destroy();
      plot.current = new uPlot(toPlotOptions(latest.current, element), toPlotData(latest.current), element);
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
  }, [shape, height]);

  useEffect(() => {
    plot.current?.setData(toPlotData(latest.current));
  }, [times, series]);

  return (
    <figure class="chart">
      <figcaption>
        <span>{title}</span>
        <ul class="legend">
          {series.map(({ label, color: color, values }) => (
            <li key={label}>
              <span class={`swatch ${color}`} aria-hidden="true" />
              {label} <strong>{formatLast(values, format)}</strong>
            </li>
          ))}
        </ul>
      </figcaption>
      <div ref={container} class="plot" role="img" aria-label={describe(props)} />
    </figure>
  );
}

function toPlotData({ times, series }: ChartProps): uPlot.AlignedData {
  return [[...times], ...series.map(({ values }) => [...values])] as uPlot.AlignedData;
}

function toPlotOptions(
  { series, format, height = 150, kind = "lines" }: ChartProps,
  element: HTMLElement,
): uPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string) => resolveColor(element, `var(--${name})`);
  const font = `11px ${style.fontFamily}`;
  const axis = {
    stroke: color("muted"),
    font,
    grid: { stroke: color("border"), width: 1 },
    ticks: { stroke: color("border"), width: 1, size: 4 },
  };
  const bars = uPlot.paths.bars?.({ size: [0.7, 60] });
  return {
    width: Math.max(element.clientWidth, 100),
    height,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
    padding: [8, 4, 0, 0],
    axes: [
      {
        ...axis,
        size: 24,
        space: 70,
        // Labels show minutes: a smaller step would repeat labels.
        incrs: [60, 120, 300, 600, 1800, 3600],
        values: (_: uPlot, ticks: number[]) => ticks.map((tick) => minute.format(tick * 1000)),
      },
      { ...axis, size: 58, values: (_: uPlot, ticks: number[]) => ticks.map((tick) => format(tick)) },
    ],
    series: [
      {},
      ...series.map((each) => ({
        label: each.label,
        stroke: color(each.color),
        width: 1.5,
        points: { show: false },
        ...(kind === "bars" && bars !== undefined && { paths: bars }),
        ...((kind === "bars" || each.isFilled === true) && {
          fill: translucent(color(each.color), kind === "bars" ? 0.85 : 0.14),
        }),
      })),
    ],
  };
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

function formatLast(values: readonly (number | null)[], format: (value: number) => string): string {
  const last = values.findLast((value) => value !== null);
  return last === undefined || last === null ? "–" : format(last);
}

function describe({ title, series, format }: ChartProps): string {
  const parts = series.map(({ label, values }) => {
    const known = values.filter((value) => value !== null);
    if (known.length === 0) return `${label}: no data`;
    return `${label}: last ${formatLast(values, format)}, highest ${format(Math.max(...known))}`;
  });
  return `${title}. ${parts.join("; ")}`;
}
