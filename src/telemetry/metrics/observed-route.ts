// Names and metric series of a rule and its targets. They are created once per compiled rule, so that a request does not look
// up series by label values.
import { OTHER, type NumberSeries } from "./metric-family.ts";
import type { Metrics } from "./metrics.ts";
import { ObservedGateway } from "./observed-gateway.ts";
import { ObservedPlugin } from "./observed-plugin.ts";
import { redact } from "../log/redact.ts";
import { RequestSeries } from "./request-series.ts";
import { addressOf, type TargetAddress } from "./target-address.ts";

/** A model that is not in the configuration gets its own series after a successful response, at most this many per target. */
const MAX_UNDECLARED_MODELS = 50;

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
