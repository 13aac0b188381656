// A chart over time, drawn on a canvas; what it shows is also said in words for those who cannot see it.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

const minute = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });

export interface Series {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** A custom property of the style sheet, without its dashes: `series-1`. */
  readonly colour: string;
  readonly isFilled?: boolean;
}

export interface ChartProps {
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
  const place = useRef<HTMLDivElement>(null);
  const drawn = useRef<uPlot | null>(null);
  const shape = `${kind} ${series.map(({ label, colour }) => label + colour).join()}`;
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const draw = () => {
      drawn.current?.destroy();
      drawn.current = new uPlot(optionsFor(latest.current, element), dataOf(latest.current), element);
    };
    draw();
    const resized = new ResizeObserver(() => drawn.current?.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", draw);
    return () => {
      resized.disconnect();
      scheme.removeEventListener("change", draw);
      drawn.current?.destroy();
      drawn.current = null;
    };
  }, [shape, height]);

  useEffect(() => {
    drawn.current?.setData(dataOf(latest.current));
  }, [times, series]);

  return (
    <figure class="chart">
      <figcaption>
        <span>{title}</span>
        <ul class="legend">
          {series.map(({ label, colour, values }) => (
            <li key={label}>
              <span class={`swatch ${colour}`} aria-hidden="true" />
              {label} <strong>{sayLast(values, format)}</strong>
            </li>
          ))}
        </ul>
      </figcaption>
      <div ref={place} class="plot" role="img" aria-label={describe(props)} />
    </figure>
  );
}

function dataOf({ times, series }: ChartProps): uPlot.AlignedData {
  return [[...times], ...series.map(({ values }) => [...values])] as uPlot.AlignedData;
}

function optionsFor(
  { series, format, height = 150, kind = "lines" }: ChartProps,
  element: HTMLElement,
): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string) => resolveColour(element, `var(--${name})`);
  const font = `11px ${style.fontFamily}`;
  const axis = {
    stroke: colour("soft"),
    font,
    grid: { stroke: colour("line"), width: 1 },
    ticks: { stroke: colour("line"), width: 1, size: 4 },
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
        // Less than a minute would write the same label twice.
        incrs: [60, 120, 300, 600, 1800, 3600],
        values: (_: uPlot, ticks: number[]) => ticks.map((tick) => minute.format(tick * 1000)),
      },
      { ...axis, size: 58, values: (_: uPlot, ticks: number[]) => ticks.map((tick) => format(tick)) },
    ],
    series: [
      {},
      ...series.map((each) => ({
        label: each.label,
        stroke: colour(each.colour),
        width: 1.5,
        points: { show: false },
        ...(kind === "bars" && bars !== undefined && { paths: bars }),
        ...((kind === "bars" || each.isFilled === true) && {
          fill: translucent(colour(each.colour), kind === "bars" ? 0.85 : 0.14),
        }),
      })),
    ],
  };
}

/** A canvas knows no custom properties: the browser resolves them on a real element. */
function resolveColour(element: HTMLElement, value: string): string {
  const probe = document.createElement("span");
  probe.style.color = value;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function translucent(colour: string, alpha: number): string {
  return colour.replace(/^rgb\((.*)\)$/, `rgba($1, ${alpha})`);
}

function sayLast(values: readonly (number | null)[], format: (value: number) => string): string {
  const last = values.findLast((value) => value !== null);
  return last === undefined || last === null ? "–" : format(last);
}

function describe({ title, series, format }: ChartProps): string {
  const parts = series.map(({ label, values }) => {
    const known = values.filter((value) => value !== null);
    if (known.length === 0) return `${label}: nothing yet`;
    return `${label}: last ${sayLast(values, format)}, highest ${format(Math.max(...known))}`;
  });
  return `${title}. ${parts.join("; ")}`;
}
