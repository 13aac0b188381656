// Names and metric series of a rule and its targets. They are created once per compiled rule, so that a request does not look
// up series by label values.
import { OTHER, type NumberSeries } from "./metric-family.ts";
import type { Metrics } from "./metrics.ts";
import { ObservedPlugin } from "./observed-plugin.ts";
import { redact } from "../log/redact.ts";
import { RequestSeries } from "./request-series.ts";

/** A model that is not in the configuration gets its own series after a successful response, at most this many per target. */
const MAX_UNDECLARED_MODELS = 50;
/** Bounds the error codes per gateway, because plugins may define codes. */
const MAX_CODES = 50;

export interface RouteNames {
  readonly gateway: string;
  readonly rule: { readonly id: string; readonly name: string | null; readonly path: string };
  readonly upstream: string;
}

export interface TargetNames {
  readonly id: string;
  readonly provider: string;
  /** The provider's name in OpenTelemetry's GenAI conventions. */
  readonly semanticName: string;
  readonly baseUrl: string;
  /** The `path` in the configuration; null if there is none. */
  readonly path: string | null;
  /** Models in the configuration. */
  readonly models: Iterable<string>;
}

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

export class ObservedTarget {
  readonly id: string;
  readonly provider: string;
  readonly semanticName: string;
  readonly path: string | null;
  readonly #baseUrl: string;
  #address: TargetAddress | null = null;
  readonly #metrics: Metrics;
  readonly #route: RouteNames;
  readonly #declared: ReadonlySet<string>;
  readonly #byModel = new Map<string, RequestSeries>();
  readonly #byResult = new Map<string | number, NumberSeries>();

  constructor(metrics: Metrics, route: RouteNames, names: TargetNames) {
    const { id, provider, semanticName, baseUrl, path, models } = names;
    this.id = id;
    this.provider = provider;
    this.semanticName = semanticName;
    this.path = path;
    this.#baseUrl = baseUrl;
    this.#metrics = metrics;
    this.#route = route;
    this.#declared = new Set(models);
  }

  get address(): TargetAddress {
    return (this.#address ??= addressOf(this.#baseUrl));
  }

  /** `isSuccess`: the provider responded without an error. Model names invented by clients must not use up the series. */
  series(model: string | null, isSuccess: boolean): RequestSeries {
    const name = model ?? "";
    const known = this.#byModel.get(name);
    if (known !== undefined) return known;
    const mayGrow = isSuccess && this.#byModel.size < this.#declared.size + MAX_UNDECLARED_MODELS;
    if (name !== "" && name !== OTHER && !mayGrow && !this.#declared.has(name))
      return this.series(OTHER, isSuccess);
    const { gateway, rule } = this.#route;
    const made = new RequestSeries(this.#metrics, gateway, ruleLabel(rule), this.provider, redact(name));
    this.#byModel.set(name, made);
    return made;
  }

  /** `result` is a status or the name of an error. */
  countAttempt(result: string | number): void {
    let series = this.#byResult.get(result);
    if (series === undefined) {
      const { gateway, upstream } = this.#route;
      const labels = { gateway, upstream, target: this.id, provider: this.provider, result: String(result) };
      series = this.#metrics.number("gatehouse_attempts_total", labels);
      this.#byResult.set(result, series);
    }
    series.add();
  }
}

interface TargetAddress {
  readonly hostname: string;
  readonly port: number;
}

function addressOf(baseUrl: string): TargetAddress {
  const { hostname, port, protocol } = new URL(baseUrl);
  return { hostname, port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port) };
}

/** Metric series per gateway. */
export class ObservedGateway {
  readonly #metrics: Metrics;
  readonly #name: string;
  readonly #outcomes = new Map<string, NumberSeries>();
  readonly #errors = new Map<string, NumberSeries>();
  readonly #translations = new Map<string, NumberSeries>();
  #unmatched: RequestSeries | null = null;

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

  /** Requests that matched no rule. */
  get unmatched(): RequestSeries {
    return (this.#unmatched ??= new RequestSeries(this.#metrics, this.#name, "", "", ""));
  }
}

export class ObservedRule {
  readonly names: RouteNames;
  /** By the index of the compiled target. */
  readonly targets: readonly ObservedTarget[];
  readonly retries: NumberSeries;
  readonly failovers: NumberSeries;
  readonly #metrics: Metrics;
  #withoutAttempt: RequestSeries | null = null;

  constructor(metrics: Metrics, names: RouteNames, targets: readonly TargetNames[]) {
    this.names = names;
    this.#metrics = metrics;
    this.targets = targets.map((target) => new ObservedTarget(metrics, names, target));
    const { gateway, upstream } = names;
    this.retries = metrics.number("gatehouse_retries_total", { gateway, upstream });
    this.failovers = metrics.number("gatehouse_failovers_total", { gateway, upstream });
  }

  /** Requests that ended before any upstream attempt. */
  get withoutAttempt(): RequestSeries {
    const { gateway, rule } = this.names;
    return (this.#withoutAttempt ??= new RequestSeries(this.#metrics, gateway, ruleLabel(rule), "", ""));
  }
}

function ruleLabel({ name, path }: RouteNames["rule"]): string {
  return name ?? path;
}

/** Finds the series of compiled rules, gateways and plugins. */
export class ObservedRoutes {
  readonly #metrics: Metrics;
  #generation = -1;
  #rules = new WeakMap<object, ObservedRule>();
  #gateways = new WeakMap<object, ObservedGateway>();
  #plugins = new WeakMap<object, ObservedPlugin>();

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  /** Returns undefined if the rule has not been added yet. */
  findRule(compiled: object): ObservedRule | undefined {
    this.#dropStale();
    return this.#rules.get(compiled);
  }

  addRule(compiled: object, names: RouteNames, targets: readonly TargetNames[]): ObservedRule {
    const observed = new ObservedRule(this.#metrics, names, targets);
    this.#rules.set(compiled, observed);
    return observed;
  }

  /** `compiled` is null for requests without a gateway. */
  gateway(compiled: object | null, name: string): ObservedGateway {
    this.#dropStale();
    const key = compiled ?? NO_GATEWAY;
    let observed = this.#gateways.get(key);
    if (observed === undefined) {
      observed = new ObservedGateway(this.#metrics, name);
      this.#gateways.set(key, observed);
    }
    return observed;
  }

  plugin(link: object, gateway: string, plugin: string, stage: string): ObservedPlugin {
    this.#dropStale();
    let observed = this.#plugins.get(link);
    if (observed === undefined) {
      observed = new ObservedPlugin(this.#metrics, gateway, plugin, stage);
      this.#plugins.set(link, observed);
    }
    return observed;
  }

  /** Discards kept series after Metrics removed unused ones. */
  #dropStale(): void {
    const { generation } = this.#metrics;
    if (generation === this.#generation) return;
    this.#generation = generation;
    this.#rules = new WeakMap();
    this.#gateways = new WeakMap();
    this.#plugins = new WeakMap();
  }
}

const NO_GATEWAY = {};
