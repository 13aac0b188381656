// The metrics of this process and their Prometheus text. What happens often is added as it happens; what can be looked up
// is looked up when somebody asks.
import type { Dependency, Health } from "../health.ts";
import { HistogramSeries, MetricFamily, NumberSeries, type Series } from "./metric-family.ts";
import {
  METRICS,
  type LabelsOf,
  type MetricDeclaration,
  type MetricName,
  type NameOf,
} from "./metric-table.ts";

export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Metrics as a page of text: this process's own, or (later) those of all that share its listeners. */
export interface MetricsSource {
  metricsText(): Promise<string>;
}

type NumberName = NameOf<"counter" | "gauge">;

export class Metrics implements MetricsSource {
  readonly #families = new Map<MetricName, MetricFamily>();
  readonly #collectors: (() => void)[] = [];
  /** Changes when series were forgotten for want of use: kept ones must then be looked up anew. */
  generation = 0;

  constructor() {
    const onDrop = () => {
      this.generation++;
    };
    for (const [name, declaration] of Object.entries(METRICS) as [MetricName, MetricDeclaration][]) {
      const make = seriesMaker(declaration);
      this.#families.set(name, new MetricFamily(name, declaration, make, onDrop, Date.now()));
    }
  }

  /** The series with these labels, to be kept by whoever adds to it often. */
  number<Name extends NumberName>(name: Name, labels: LabelsOf<Name>): NumberSeries {
    return this.#series(name, labels) as NumberSeries;
  }

  histogram<Name extends NameOf<"histogram">>(name: Name, labels: LabelsOf<Name>): HistogramSeries {
    return this.#series(name, labels) as HistogramSeries;
  }

  set<Name extends NumberName>(name: Name, labels: LabelsOf<Name>, value: number): void {
    this.number(name, labels).value = value;
  }

  /** Forgets the series of metrics that are looked up anew each time. */
  clear(...names: readonly MetricName[]): void {
    for (const name of names) this.#families.get(name)?.clear();
  }

  /** `look` is called before every answer, to set what is not added up as it happens. */
  onCollect(look: () => void): void {
    this.#collectors.push(look);
  }

  metricsText(): Promise<string> {
    return Promise.resolve(this.render());
  }

  render(): string {
    for (const look of this.#collectors) look();
    let text = "";
    for (const family of this.#families.values()) text += family.render();
    return text;
  }

  #series(name: MetricName, labels: Readonly<Record<string, string>>): Series {
    const family = this.#families.get(name);
    if (family === undefined) throw new Error(`there is no metric ${name}`);
    const values = family.declaration.labels.map((label) => labels[label] ?? "");
    return family.series(values, Date.now());
  }
}

function seriesMaker({ type, buckets = [] }: MetricDeclaration): () => Series {
  return type === "histogram" ? () => new HistogramSeries(buckets) : () => new NumberSeries();
}

/** What /readyz tells, as figures. */
export function collectHealth(metrics: Metrics, health: Health): void {
  metrics.onCollect(() => {
    metrics.set("gatehouse_ready", {}, Number(health.ready));
    metrics.set("gatehouse_config_revision", {}, health.revision ?? -1);
    metrics.set("gatehouse_store_up", {}, up(health.store));
    metrics.set("gatehouse_counters_up", {}, up(health.counters));
    metrics.set("gatehouse_counters_lost_total", {}, health.countersLost);
    metrics.set("gatehouse_faulty_gateways", {}, health.failedGateways.size);
  });
}

function up({ state }: Dependency): number {
  return state === "away" ? 0 : 1;
}
