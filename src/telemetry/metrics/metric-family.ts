// The numbers of one metric: a series for each set of label values, bounded, and their Prometheus text. Whoever adds often
// keeps the series: adding is then one addition.
import type { MetricDeclaration } from "./metric-table.ts";

export const MAX_SERIES = 1000;
/** Of a histogram each series takes some twenty lines. */
export const MAX_HISTOGRAM_SERIES = 300;
const MAX_LABEL_LENGTH = 128;
/** Beyond the bound every label says so. */
export const OTHER = "other";
/** A series to which nothing was added for this long gives way when the family is full. */
const IDLE_MS = 3_600_000;

export class NumberSeries {
  value = 0;

  add(amount = 1): void {
    this.value += amount;
  }
  /** Grows with every addition; tells a series in use from one that is not. */
  get mark(): number {
    return this.value;
  }
}

export class HistogramSeries {
  readonly #bounds: readonly number[];
  /** Not cumulative; the last one is for what no bound holds. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] as number)) index++;
    this.counts[index] = (this.counts[index] as number) + 1;
    this.sum += value;
  }
  get mark(): number {
    return this.counts.reduce((total, count) => total + count, 0);
  }
}

export type Series = NumberSeries | HistogramSeries;

interface Member<S> {
  /** `gateway="a",rule="b"`, made once. */
  readonly pairs: string;
  readonly series: S;
  markBefore: number;
}

export class MetricFamily<S extends Series = Series> {
  readonly name: string;
  readonly declaration: MetricDeclaration;
  readonly #make: () => S;
  readonly #onDrop: () => void;
  readonly #members = new Map<string, Member<S>>();
  readonly #maxSeries: number;
  #markedAt: number;

  /** `onDrop`: series were forgotten; whoever keeps some looks them up anew. */
  constructor(name: string, declaration: MetricDeclaration, make: () => S, onDrop: () => void, now: number) {
    this.name = name;
    this.declaration = declaration;
    this.#make = make;
    this.#onDrop = onDrop;
    this.#markedAt = now;
    this.#maxSeries = declaration.type === "histogram" ? MAX_HISTOGRAM_SERIES : MAX_SERIES;
  }

  /** The series with these label values, in the order of the declaration. */
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

  /** Names come and go with configurations: what was not used since the last look, an hour ago or more, is forgotten. */
  #dropIdle(now: number): boolean {
    if (now - this.#markedAt < IDLE_MS) return false;
    this.#markedAt = now;
    for (const [key, member] of this.#members) {
      if (member.series.mark === member.markBefore) this.#members.delete(key);
      else member.markBefore = member.series.mark;
    }
    this.#onDrop();
    return this.#members.size < this.#maxSeries;
  }

  #add(labels: readonly string[]): S {
    const series = this.#make();
    const pairs = this.declaration.labels
      .map((label, index) => `${label}="${escapeLabel(labels[index] ?? "")}"`)
      .join(",");
    // Less than any mark can be: a new series is not idle yet.
    this.#members.set(keyOf(labels), { pairs, series, markBefore: -1 });
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
