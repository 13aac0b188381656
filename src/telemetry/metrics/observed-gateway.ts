// Metric series of a gateway. They are looked up once per compiled gateway.
import { redact } from "../log/redact.ts";
import { OTHER, type NumberSeries } from "./metric-family.ts";
import type { Metrics } from "./metrics.ts";
import { ObservedMcp } from "./observed-mcp.ts";
import { RequestSeries } from "./request-series.ts";
import type { SkippedMirror } from "./virtual-model-metrics.ts";

/** Bounds the error codes per gateway, because plugins may define codes. */
const MAX_CODES = 50;

/** A virtual model that a request used. */
export interface VirtualModelNames {
  readonly name: string;
  /** The model of the target in the configuration; null if it gets the requested name, or if there was no attempt. */
  readonly target: string | null;
  /** The virtual model that served instead, and why; null if there was no fallback. */
  readonly fallback: string | null;
  readonly reason: string | null;
  /** What served: the canary or another target; null without a canary. */
  readonly canary: "canary" | "stable" | null;
  /** What the cached input would have cost in addition, in US dollars. */
  readonly cacheSavings: number;
}

export class ObservedGateway {
  readonly #metrics: Metrics;
  readonly #name: string;
  readonly #outcomes = new Map<string, NumberSeries>();
  readonly #errors = new Map<string, NumberSeries>();
  readonly #translations = new Map<string, NumberSeries>();
  #unmatched: RequestSeries | null = null;
  #mcp: ObservedMcp | null = null;

  constructor(metrics: Metrics, name: string) {
    this.#metrics = metrics;
    this.#name = name;
  }

  countOutcome(outcome: string): void {
    let series = this.#outcomes.get(outcome);
    if (series === undefined) {
      series = this.#metrics.number("gatehouse_request_outcomes_total", { gateway: this.#name, outcome });
      this.#outcomes.set(outcome, series);
    }
    series.add();
  }

  countError(code: string): void {
    const known = this.#errors.get(code);
    if (known !== undefined) known.add();
    else if (code !== OTHER && this.#errors.size >= MAX_CODES) this.countError(OTHER);
    else {
      const labels = { gateway: this.#name, code: redact(code) };
      const series = this.#metrics.number("gatehouse_errors_total", labels);
      this.#errors.set(code, series);
      series.add();
    }
  }

  /** Counts a request that a game day affected. */
  countFaults(faults: readonly string[]): void {
    for (const fault of new Set(faults))
      this.#metrics.number("gatehouse_game_day_requests_total", { gateway: this.#name, fault }).add();
  }

  /** Not on the path of a request, and the names are those of the configuration. */
  countVirtualModel(model: VirtualModelNames, upstream: string, outcome: string): void {
    const [gateway, virtual_model] = [this.#name, model.name];
    const labels = { gateway, virtual_model, upstream, model: model.target ?? "", outcome };
    this.#metrics.number("gatehouse_virtual_model_requests_total", labels).add();
    const { fallback, reason, canary } = model;
    if (canary !== null)
      this.#metrics
        .number("gatehouse_canary_requests_total", { gateway, virtual_model, served_by: canary, outcome })
        .add();
    if (fallback === null || reason === null) return;
    const fallbackLabels = { gateway, virtual_model, fallback, reason };
    this.#metrics.number("gatehouse_virtual_model_fallbacks_total", fallbackLabels).add();
  }

  countCachedInput(
    { name, target: sent, cacheSavings }: VirtualModelNames,
    upstream: string,
    target: string,
    { input, cachedInput }: { readonly input: number; readonly cachedInput: number },
  ): void {
    const labels = { gateway: this.#name, virtual_model: name, upstream, target, model: sent ?? "" };
    const family = "gatehouse_virtual_model_input_tokens_total";
    this.#metrics.number(family, { ...labels, cache: "none" }).add(Math.max(0, input - cachedInput));
    this.#metrics.number(family, { ...labels, cache: "read" }).add(cachedInput);
    this.#metrics.number("gatehouse_virtual_model_cache_savings_dollars_total", labels).add(cacheSavings);
  }

  countHedge(
    upstream: string,
    { result, cost }: { readonly result: string; readonly cost: number | null },
  ): void {
    const gateway = this.#name;
    this.#metrics.number("gatehouse_hedges_total", { gateway, upstream, result }).add();
    if (cost !== null)
      this.#metrics.number("gatehouse_hedge_cost_dollars_total", { gateway, upstream }).add(cost);
  }

  /** Counts a copy of a request. `cost` is in US dollars; null if it is unknown. */
  countMirror(virtual_model: string, result: "ok" | "error" | "failed", cost: number | null): void {
    const gateway = this.#name;
    this.#metrics.number("gatehouse_mirrors_total", { gateway, virtual_model, result }).add();
    if (cost !== null)
      this.#metrics.number("gatehouse_mirror_cost_dollars_total", { gateway, virtual_model }).add(cost);
  }

  countSkippedMirror(virtual_model: string, reason: SkippedMirror): void {
    const gateway = this.#name;
    this.#metrics.number("gatehouse_mirrors_skipped_total", { gateway, virtual_model, reason }).add();
  }

  /** `from` and `to` are names of formats. */
  countTranslation(from: string, to: string): void {
    const key = `${from} ${to}`;
    let series = this.#translations.get(key);
    if (series === undefined) {
      const labels = { gateway: this.#name, from, to };
      series = this.#metrics.number("gatehouse_translated_requests_total", labels);
      this.#translations.set(key, series);
    }
    series.add();
  }

  /** The series of its MCP services. */
  get mcp(): ObservedMcp {
    return (this.#mcp ??= new ObservedMcp(this.#metrics, this.#name));
  }

  /** Requests that matched no rule. */
  get unmatched(): RequestSeries {
    return (this.#unmatched ??= new RequestSeries(this.#metrics, this.#name, "", "", ""));
  }
}
