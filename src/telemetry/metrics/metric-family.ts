// One metric: its series (one per set of label values, bounded) and their Prometheus text. Callers on the request path keep
// the series they add to, so that counting is one addition.
import type { MetricDeclaration } from "./metric-table.ts";

export const MAX_SERIES = 1000;
/** Lower than MAX_SERIES, because a histogram series has about twenty lines of text. */
export const MAX_HISTOGRAM_SERIES = 300;
const MAX_LABEL_LENGTH = 128;
/** Label value of the series that collects everything beyond the bound. */
export const OTHER = "other";
/** When a family is full, series to which nothing was added for this long are removed. */
const IDLE_MS = 3_600_000;

export class NumberSeries {
  value = 0;

  add(amount = 1): void {
    this.value += amount;
  }
  /** Grows with every addition, which shows whether the series is in use. */
  get activity(): number {
    return this.value;
  }
}

export class HistogramSeries {
  readonly #bounds: readonly number[];
  /** Not cumulative. The last count is for values above all bounds. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] ?? Infinity)) index++;
    this.counts[index] = (this.counts[index] ?? 0) + 1;
    this.sum += value;
  }
  get activity(): number {
    return this.counts.reduce((total, count) => total + count, 0);
  }
}

export type Series = NumberSeries | HistogramSeries;

interface Member<S> {
  /** The formatted labels: `gateway="a",rule="b"`. */
  readonly pairs: string;
  readonly series: S;
  activityBefore: number;
}

export class MetricFamily<S extends Series = Series> {
  readonly name: string;
  readonly declaration: MetricDeclaration;
  readonly #make: () => S;
  readonly #onDrop: () => void;
  readonly #members = new Map<string, Member<S>>();
  readonly #maxSeries: number;
  #checkedAt: number;

  /** `onDrop` is called when series are removed. Callers that keep series must look them up again. */
  constructor(name: string, declaration: MetricDeclaration, make: () => S, onDrop: () => void, now: number) {
    this.name = name;
    this.declaration = declaration;
    this.#make = make;
    this.#onDrop = onDrop;
    this.#checkedAt = now;
    this.#maxSeries = declaration.type === "histogram" ? MAX_HISTOGRAM_SERIES : MAX_SERIES;
  }

  /** Returns the series with these label values, given in the order of the declaration. */
  series(values: readonly string[], now: number): S {
    const labels = values.map(shorten);
    const known = this.#members.get(keyOf(labels));
    if (known !== undefined) return known.series;
    if (this.#members.size < this.#maxSeries || this.#dropIdle(now)) return this.#add(labels);
    const others = labels.map(() => OTHER);
    return this.#members.get(keyOf(others))?.series ?? this.#add(others);
  }

  clear(): void {
    this.#members.clear();
  }

  /** Removes series that were not used since the last check, at least IDLE_MS ago. Configuration changes leave such series. */
  #dropIdle(now: number): boolean {
    if (now - this.#checkedAt < IDLE_MS) return false;
    this.#checkedAt = now;
    for (const [key, member] of this.#members) {
      if (member.series.activity === member.activityBefore) this.#members.delete(key);
      else member.activityBefore = member.series.activity;
    }
    this.#onDrop();
    return this.#members.size < this.#maxSeries;
  }

  #add(labels: readonly string[]): S {
    const series = this.#make();
    const pairs = this.declaration.labels
      .map((label, index) => `${label}="${escapeLabel(labels[index] ?? "")}"`)
      .join(",");
    // Lower than any activity, so that a new series does not count as idle.
    this.#members.set(keyOf(labels), { pairs, series, activityBefore: -1 });
    return series;
  }

  render(): string {
    const { name, declaration } = this;
    let text = `# HELP ${name} ${escapeHelp(declaration.help)}\n# TYPE ${name} ${declaration.type}\n`;
    for (const { pairs, series } of this.#members.values()) {
      text +=
        series instanceof NumberSeries
          ? `${name}${pairs === "" ? "" : `{${pairs}}`} ${series.value}\n`
          : this.#renderHistogram(pairs, series);
    }
    return text;
  }

  #renderHistogram(pairs: string, { counts, sum }: HistogramSeries): string {
    let text = "";
    let total = 0;
    const bounds = this.declaration.buckets ?? [];
    const before = `${this.name}_bucket{${pairs === "" ? "" : `${pairs},`}le="`;
    for (const [index, count] of counts.entries()) {
      total += count;
      text += `${before}${index < bounds.length ? bounds[index] : "+Inf"}"} ${total}\n`;
    }
    const labels = pairs === "" ? "" : `{${pairs}}`;
    return `${text}${this.name}_sum${labels} ${sum}\n${this.name}_count${labels} ${total}\n`;
  }
}

function keyOf(labels: readonly string[]): string {
  return labels.join("\0");
}

function shorten(value: string): string {
  return value.slice(0, MAX_LABEL_LENGTH);
}

function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function escapeHelp(help: string): string {
  return help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
