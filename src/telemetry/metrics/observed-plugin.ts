// Metrics of one plugin of a gateway (duration, failures, events that it counts itself), and one run of it for the request log.
import { OTHER, type HistogramSeries, type NumberSeries } from "./metric-family.ts";
import type { Metrics } from "./metrics.ts";
import { truncateText } from "../truncate-text.ts";
import { redact } from "../log/redact.ts";

/** Bounds the series of a plugin that derives event names from client input. */
const MAX_EVENTS = 100;

export class ObservedPlugin {
  readonly name: string;
  readonly stage: string;
  /** The start of its entry in Server-Timing, which every response has. */
  readonly timingStart: string;
  readonly duration: HistogramSeries;
  readonly #metrics: Metrics;
  readonly #gateway: string;
  readonly #events = new Map<string, Map<string, NumberSeries>>();
  #eventCount = 0;
  #failures: NumberSeries | null = null;
  readonly #shadow = new Map<string, NumberSeries>();

  constructor(metrics: Metrics, gateway: string, plugin: string, stage: string) {
    this.name = plugin;
    this.stage = stage;
    this.timingStart = `, plugin.${plugin};dur=`;
    this.#metrics = metrics;
    this.#gateway = gateway;
    this.duration = metrics.histogram("gatehouse_plugin_duration_seconds", { gateway, plugin, stage });
  }

  countFailure(): void {
    const labels = { gateway: this.#gateway, plugin: this.name, stage: this.stage };
    (this.#failures ??= this.#metrics.number("gatehouse_plugin_faults_total", labels)).add();
  }

  count(event: string, kind: string, amount = 1): void {
    this.eventSeries(event, kind).add(amount);
  }

  /** Returns the series of an event, to keep as long as this object is used. */
  eventSeries(event: string, kind: string): NumberSeries {
    const known = this.#events.get(event)?.get(kind);
    if (known !== undefined) return known;
    if (this.#eventCount < MAX_EVENTS) return this.#newEvent(event, kind);
    return this.#events.get(OTHER)?.get(OTHER) ?? this.#newEvent(OTHER, OTHER);
  }

  /** Counts what the plugin would have done in shadow mode. */
  countShadow(outcome: string): void {
    let series = this.#shadow.get(outcome);
    if (series === undefined) {
      const labels = { gateway: this.#gateway, plugin: this.name, stage: this.stage, outcome };
      series = this.#metrics.number("gatehouse_plugin_shadow_total", labels);
      this.#shadow.set(outcome, series);
    }
    series.add();
  }

  #newEvent(event: string, kind: string): NumberSeries {
    const labels = { gateway: this.#gateway, plugin: this.name, event: redact(event), kind: redact(kind) };
    const series = this.#metrics.number("gatehouse_plugin_events_total", labels);
    const kinds = this.#events.get(event) ?? new Map<string, NumberSeries>();
    this.#events.set(event, kinds.set(kind, series));
    this.#eventCount++;
    return series;
  }
}

export type PluginVerdict = "passed" | "changed" | "answered" | "failed";

/** One plugin in one request: how long it took and what it did. */
export class PluginRun {
  readonly plugin: ObservedPlugin;
  ms = 0;
  verdict: PluginVerdict = "passed";
  detail: string | null = null;
  /** What the last hook that failed threw; null if none did. */
  error: unknown = null;

  constructor(plugin: ObservedPlugin) {
    this.plugin = plugin;
  }

  get name(): string {
    return this.plugin.name;
  }
  get stage(): string {
    return this.plugin.stage;
  }
  get timingStart(): string {
    return this.plugin.timingStart;
  }

  count(event: string, kind: string, amount: number): void {
    this.plugin.count(event, kind, amount);
  }

  /** Keeps the text with which the plugin explains its decision to the operator. */
  describe(detail: string): void {
    this.detail = truncateText(detail);
  }

  isRunOf(plugin: ObservedPlugin): boolean {
    return this.plugin === plugin;
  }

  /** Whether the runs differ at most in their time and error. */
  isLike(other: PluginRun | undefined): boolean {
    if (other === undefined) return false;
    return this.plugin === other.plugin && this.verdict === other.verdict && this.detail === other.detail;
  }

  /** Returns the same run with another time. */
  withMs(milliseconds: number): PluginRun {
    const copy = new PluginRun(this.plugin);
    copy.ms = milliseconds;
    copy.verdict = this.verdict;
    copy.detail = this.detail;
    return copy;
  }

  ended(milliseconds: number): void {
    this.ms += milliseconds;
    this.plugin.duration.observe(milliseconds / 1000);
  }

  failed(error: unknown): void {
    this.error = error;
    this.verdict = "failed";
    this.plugin.countFailure();
  }
}
