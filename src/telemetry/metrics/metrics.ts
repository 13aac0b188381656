// The metrics of this process and their Prometheus text. Events are counted when they happen; states are read when the metrics
// are rendered.
import type { OffLoop } from "../../off-loop/off-loop.ts";
import type { Dependency, Health } from "../health.ts";
import { HistogramSeries, MetricFamily, NumberSeries, OTHER, shorten, type Series } from "./metric-family.ts";
import type { MetricDeclaration } from "./metric-declaration.ts";
import { METRICS, type LabelsOf, type MetricName, type NameOf } from "./metric-table.ts";

export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** A page of metrics: of this process, or of all worker processes. */
export interface MetricsSource {
  metricsText(): Promise<string>;
}

type NumberName = NameOf<"counter" | "gauge">;

export class Metrics implements MetricsSource {
  readonly #families = new Map<MetricName, MetricFamily>();
  readonly #collectors: (() => void)[] = [];
  /** Null before the first collection. */
  #existingGateways: ReadonlySet<string> | null = null;
  /** Changes when unused series were removed. Callers that keep series must then look them up again. */
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

  /** Returns the series with these labels. Callers on the request path keep it. */
  number<Name extends NumberName>(name: Name, labels: LabelsOf<Name>): NumberSeries {
    return this.#series(name, labels) as NumberSeries;
  }

  histogram<Name extends NameOf<"histogram">>(name: Name, labels: LabelsOf<Name>): HistogramSeries {
    return this.#series(name, labels) as HistogramSeries;
  }

  set<Name extends NumberName>(name: Name, labels: LabelsOf<Name>, value: number): void {
    this.number(name, labels).value = value;
  }

  /** Removes all series of metrics that are set again at each collection. */
  clear(...names: readonly MetricName[]): void {
    for (const name of names) this.#families.get(name)?.clear();
  }

  /** Removes the series of gateways that are not among these names. */
  dropDeletedGateways(names: Iterable<string>): void {
    const existing = new Set<string>();
    for (const name of names) existing.add(shorten(name));
    for (const family of this.#families.values()) family.dropDeletedGateways(existing);
    this.#existingGateways = existing;
  }

  /** `label` is the value of a label `gateway`. */
  isExistingGateway(label: string): boolean {
    return (
      label === "" || label === OTHER || this.#existingGateways === null || this.#existingGateways.has(label)
    );
  }

  /** `collect` is called before each rendering, to set metrics that describe a state. */
  onCollect(collect: () => void): void {
    this.#collectors.push(collect);
  }

  metricsText(): Promise<string> {
    return Promise.resolve(this.render());
  }

  render(): string {
    for (const collect of this.#collectors) collect();
    let text = "";
    for (const family of this.#families.values()) text += family.render();
    return text;
  }

  #series(name: MetricName, labels: Readonly<Record<string, string>>): Series {
    const family = this.#families.get(name);
    if (family === undefined) throw new Error(`unknown metric ${name}; declare it in metric-table.ts`);
    const values = family.declaration.labels.map((label) => labels[label] ?? "");
    return family.series(values, Date.now());
  }
}

function seriesMaker({ type, buckets = [] }: MetricDeclaration): () => Series {
  return type === "histogram" ? () => new HistogramSeries(buckets) : () => new NumberSeries();
}

/** Exposes the state that /readyz reports as metrics. */
export function collectHealth(metrics: Metrics, health: Health): void {
  metrics.onCollect(() => {
    metrics.set("gatehouse_ready", {}, Number(health.ready));
    metrics.set("gatehouse_config_revision", {}, health.revision ?? -1);
    metrics.set("gatehouse_store_up", {}, Number(health.store.state === "ok"));
    const { since } = health.store;
    metrics.set(
      "gatehouse_store_failing_since_seconds",
      {},
      since === undefined ? 0 : Date.parse(since) / 1000,
    );
    metrics.set("gatehouse_counters_up", {}, up(health.counters));
    metrics.set("gatehouse_ledger_up", {}, up(health.ledger));
    metrics.set("gatehouse_counters_lost_total", {}, health.countersLost);
    metrics.set("gatehouse_local_decisions_total", {}, health.localDecisions);
    metrics.set("gatehouse_redis_data_losses_total", {}, health.ledgerLosses);
    metrics.set("gatehouse_budgets_raised_total", {}, health.budgetsRaised);
    metrics.set("gatehouse_faulty_gateways", {}, health.failedGateways.size);
  });
}

export function collectOffLoop(metrics: Metrics, offLoop: OffLoop): void {
  metrics.onCollect(() => {
    const { completed, failed, timed_out, rejected } = offLoop.counts;
    for (const [result, count] of Object.entries({ completed, failed, timed_out, rejected }))
      metrics.set("gatehouse_off_loop_tasks_total", { result }, count);
    metrics.set("gatehouse_off_loop_tasks_waiting", {}, offLoop.waitingCount);
    metrics.set("gatehouse_off_loop_threads", {}, offLoop.threadCount);
  });
}

function up({ state }: Dependency): number {
  return state === "away" ? 0 : 1;
}
