// One metric: its series (one per set of label values, bounded per gateway) and their Prometheus text. Callers on the request
// path keep the series they add to, so that counting is one addition.
import type { MetricDeclaration } from "./metric-declaration.ts";

/** Per gateway, so that the clients of one gateway cannot use up the series of another. */
export const MAX_SERIES = 1000;
/** Lower than MAX_SERIES, because a histogram series has about twenty lines of text. */
export const MAX_HISTOGRAM_SERIES = 300;
const MAX_LABEL_LENGTH = 128;
/** Operators create gateways. The bound is for those that rename or delete and create gateways all the time. */
const MAX_GATEWAYS = 10_000;
/** Label value of the series that collects everything beyond the bound. */
export const OTHER = "other";
/** When a gateway has all series that it may have, those to which nothing was added for this long are removed. */
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

/** The series of one gateway, or all series of a metric without the label `gateway`. */
interface Group<S> {
  readonly members: Map<string, Member<S>>;
  checkedAt: number;
  /** The activity of all series when the gateway was first found to be deleted; null before. */
  activityAtDeletion: number | null;
}

export class MetricFamily<S extends Series = Series> {
  readonly name: string;
  readonly declaration: MetricDeclaration;
  readonly #make: () => S;
  readonly #onDrop: () => void;
  readonly #groups = new Map<string, Group<S>>();
  readonly #maxSeries: number;
  /** The position of the label `gateway`; -1 if the metric does not have it. */
  readonly #gatewayAt: number;
  #gatewaysCheckedAt: number;

  /** `onDrop` is called when series are removed. Callers that keep series must look them up again. */
  constructor(name: string, declaration: MetricDeclaration, make: () => S, onDrop: () => void, now: number) {
    this.name = name;
    this.declaration = declaration;
    this.#make = make;
    this.#onDrop = onDrop;
    this.#gatewaysCheckedAt = now;
    this.#gatewayAt = declaration.labels.indexOf("gateway");
    this.#maxSeries = declaration.type === "histogram" ? MAX_HISTOGRAM_SERIES : MAX_SERIES;
  }

  /** Returns the series with these label values, given in the order of the declaration. */
  series(values: readonly string[], now: number): S {
    const labels = values.map(shorten);
    const group = this.#groupOf(labels, now);
    const known = group.members.get(keyOf(labels));
    if (known !== undefined) return known.series;
    if (group.members.size < this.#maxSeries || this.#dropIdle(group, now)) return this.#add(group, labels);
    const others = labels.map((label, index) => (index === this.#gatewayAt ? label : OTHER));
    return group.members.get(keyOf(others))?.series ?? this.#add(group, others);
  }

  clear(): void {
    this.#groups.clear();
  }

  /** Replaces the gateway in `labels` if there are too many gateways. */
  #groupOf(labels: string[], now: number): Group<S> {
    const known = this.#groups.get(labels[this.#gatewayAt] ?? "");
    if (known !== undefined) return known;
    if (this.#groups.size >= MAX_GATEWAYS) this.#dropIdleGateways(now);
    if (this.#groups.size >= MAX_GATEWAYS) labels[this.#gatewayAt] = OTHER;
    const name = labels[this.#gatewayAt] ?? "";
    const group = this.#groups.get(name) ?? {
      members: new Map<string, Member<S>>(),
      checkedAt: now,
      activityAtDeletion: null,
    };
    this.#groups.set(name, group);
    return group;
  }

  /**
   * Removes the series of gateways that do not exist anymore. They stay for one more page, so that what was counted before
   * the deletion is reported.
   */
  dropDeletedGateways(existing: ReadonlySet<string>): void {
    if (this.#gatewayAt === -1) return;
    for (const [name, group] of this.#groups) {
      if (name === "" || name === OTHER || existing.has(name)) group.activityAtDeletion = null;
      else {
        let activity = 0;
        for (const { series } of group.members.values()) activity += series.activity;
        if (activity === group.activityAtDeletion) {
          this.#groups.delete(name);
          this.#onDrop();
        }
        group.activityAtDeletion = activity;
      }
    }
  }

  #dropIdleGateways(now: number): void {
    if (now - this.#gatewaysCheckedAt < IDLE_MS) return;
    this.#gatewaysCheckedAt = now;
    for (const [name, group] of this.#groups) {
      this.#dropIdle(group, now);
      if (group.members.size === 0) this.#groups.delete(name);
    }
  }

  /** Removes series that were not used since the last check, at least IDLE_MS ago. Configuration changes leave such series. */
  #dropIdle(group: Group<S>, now: number): boolean {
    if (now - group.checkedAt < IDLE_MS) return false;
    group.checkedAt = now;
    for (const [key, member] of group.members) {
      if (member.series.activity === member.activityBefore) group.members.delete(key);
      else member.activityBefore = member.series.activity;
    }
    this.#onDrop();
    return group.members.size < this.#maxSeries;
  }

  #add(group: Group<S>, labels: readonly string[]): S {
    const series = this.#make();
    const pairs = this.declaration.labels
      .map((label, index) => `${label}="${escapeLabel(labels[index] ?? "")}"`)
      .join(",");
    // Lower than any activity, so that a new series does not count as idle.
    group.members.set(keyOf(labels), { pairs, series, activityBefore: -1 });
    return series;
  }

  render(): string {
    const { name, declaration } = this;
    let text = `# HELP ${name} ${escapeHelp(declaration.help)}\n# TYPE ${name} ${declaration.type}\n`;
    for (const { members } of this.#groups.values())
      for (const { pairs, series } of members.values())
        text +=
          series instanceof NumberSeries
            ? `${name}${pairs === "" ? "" : `{${pairs}}`} ${series.value}\n`
            : this.#renderHistogram(pairs, series);
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

export function shorten(value: string): string {
  return value.slice(0, MAX_LABEL_LENGTH);
}

function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function escapeHelp(help: string): string {
  return help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
