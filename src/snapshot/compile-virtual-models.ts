// Compiles the virtual models of a gateway: which targets serve a name, through which rules. A target of a virtual model is its
// upstream with another set of targets, which get the model of the virtual one. Balancing state stays that of the upstream.
import type { Algorithm, BalancePlan } from "../balance/balance-plan.ts";
import type { BalanceRegistry } from "../balance/balance-registry.ts";
import { VirtualModelNames, virtualModelProblems } from "../model/virtual-model-links.ts";
import type { FallbackReason, Strategy, VirtualModel } from "../model/virtual-model.ts";
import { CompileError } from "./compile-error.ts";
import { compileMirror, type CompiledMirror } from "./compile-mirror.ts";
import type { CompiledUpstream } from "./compile-upstream.ts";

export interface VirtualTarget {
  /** Its place in the virtual model and in the plan. */
  readonly index: number;
  /** Has only targets that serve the model, and sends it to them. */
  readonly upstream: CompiledUpstream;
  /** Null: the requested name is sent. */
  readonly model: string | null;
  /** Serves only a share of the subjects. */
  readonly isCanary: boolean;
}

/** A virtual model with the targets that some rules can use. */
export interface ServedModel {
  readonly id: string;
  readonly name: string;
  readonly record: VirtualModel;
  readonly targets: readonly VirtualTarget[];
  /** Null if there is none, or if it is off. */
  readonly canary: VirtualTarget | null;
  /** Null if there is none, or if it is off. */
  readonly mirror: CompiledMirror | null;
  /** Chooses among the targets. Shared by all rules, and by all restrictions of the virtual model. */
  readonly plan: BalancePlan;
  /** Whether the choice depends on the conversation of the request. */
  readonly keepsConversations: boolean;
}

/** A virtual model that a request may use. The first of a chain is the requested one, the others are fallbacks. */
export interface ChainEntry {
  readonly model: ServedModel;
  /** What targets without a model get. */
  readonly name: string;
  /** The place of the virtual model that has this one as fallback; -1 for the first. */
  readonly parent: number;
  /** Why the parent is left for this one. */
  readonly reasons: ReadonlySet<FallbackReason>;
}

const ALGORITHMS: Record<Strategy, Algorithm> = {
  weighted: "weighted-round-robin",
  fallback: "round-robin",
  "lowest-latency": "lowest-latency",
  "lowest-cost": "round-robin",
  "cache-affinity": "ip-hash",
};

export interface VirtualModels {
  /** For services with `virtual_models: any`. */
  readonly any: VirtualModelTable;
  /** For other services, by the id of their upstream. */
  readonly own: ReadonlyMap<string, VirtualModelTable>;
  readonly plans: readonly BalancePlan[];
}

/** Returns null without virtual models. Throws a CompileError that names the first virtual model with problems. */
export function compileVirtualModels(
  records: readonly VirtualModel[],
  upstreams: ReadonlyMap<string, CompiledUpstream>,
  balance: BalanceRegistry,
): VirtualModels | null {
  if (records.length === 0) return null;
  rejectProblems(records);
  const models = records.map((record) => compileModel(record, upstreams, balance));
  const byUpstream = new Map<string, ServedModel[]>();
  for (const model of models)
    for (const [id, targets] of Map.groupBy(model.targets, ({ upstream }) => upstream.id)) {
      const served = byUpstream.get(id) ?? [];
      byUpstream.set(id, served);
      const canary = model.canary?.upstream.id === id ? model.canary : null;
      const mirror = model.mirror?.upstream.id === id ? model.mirror : null;
      served.push({ ...model, targets, canary, mirror });
    }
  return {
    any: new VirtualModelTable(models),
    own: new Map([...byUpstream].map(([id, served]) => [id, new VirtualModelTable(served)])),
    plans: models.flatMap(({ plan, mirror }) => (mirror === null ? plan : [plan, mirror.upstream.plan])),
  };
}

function rejectProblems(records: readonly VirtualModel[]): void {
  const problems = virtualModelProblems(records);
  const [first] = problems;
  const record = first === undefined ? undefined : records[first.index];
  if (first === undefined || record === undefined) return;
  const own = problems.filter(({ index }) => index === first.index);
  const details = own.map(({ path, message }) => ({ path, message }));
  throw new CompileError("models", record.id, details);
}

function compileModel(
  record: VirtualModel,
  upstreams: ReadonlyMap<string, CompiledUpstream>,
  balance: BalanceRegistry,
): ServedModel {
  const { id, name, strategy } = record;
  const isSplit = (record.sticky && strategy === "weighted") || strategy === "cache-affinity";
  // Without a share it is off.
  const tried = record.canary !== null && record.canary.share > 0 ? record.canary : null;
  const plan = balance.plan(planIdOf(id), {
    algorithm: isSplit ? "ip-hash" : ALGORITHMS[strategy],
    targets: [...record.targets, ...(tried === null ? [] : [{ ...tried.target, weight: 1 }])].map(
      ({ upstream, model, weight }, index) => ({
        id: `${upstream} ${model ?? ""}`,
        weight,
        priority: strategy === "fallback" ? index : 1,
      }),
    ),
    passive: false,
    threshold: 1,
    intervalMs: 1000,
  });
  const compileTarget = (target: TargetFields, index: number, isCanary: boolean): VirtualTarget[] => {
    const upstream = upstreams.get(target.upstream);
    const model = target.model ?? (name.endsWith("*") ? null : name);
    return upstream === undefined
      ? []
      : [{ index, upstream: serving(upstream, model, null), model, isCanary }];
  };
  const targets = record.targets.flatMap((target, index) => compileTarget(target, index, false));
  const [canary = null] = tried === null ? [] : compileTarget(tried.target, record.targets.length, true);
  const keepsConversations = isSplit || tried?.by === "conversation";
  const copied = record.mirror !== null && record.mirror.share > 0 ? record.mirror : null;
  const [copies] = copied === null ? [] : compileTarget(copied.target, 0, false);
  const mirror =
    copied === null || copies === undefined
      ? null
      : compileMirror(id, copies.upstream, copies.model, copied.share, balance);
  return { id, name, record, targets, canary, mirror, plan, keepsConversations };
}

type TargetFields = Pick<VirtualModel["targets"][number], "upstream" | "model">;

/** The id of the balancing state of a virtual model, among those of upstreams. */
function planIdOf(modelId: string): string {
  return `model ${modelId}`;
}

/** Returns the upstream with those of its targets that serve the model and, unless it is null, have the provider. */
function serving(
  upstream: CompiledUpstream,
  model: string | null,
  provider: string | null,
): CompiledUpstream {
  const targets = upstream.targets.map((target) => ({ ...target, forcedModel: model }));
  const own = provider === null ? targets : targets.filter((target) => target.provider === provider);
  const candidatesOf = (name: string | null) => {
    const serve = own.filter(({ models }) => models === null || (name !== null && models.has(name)));
    return serve.length === 0 ? null : { preferred: serve.map(({ index }) => index), fallback: [] };
  };
  const candidates = model === null ? null : candidatesOf(model);
  return {
    ...upstream,
    targets,
    requiresModel: false,
    requiresReadableModel: false,
    candidatesFor: model === null ? candidatesOf : () => candidates,
  };
}

/** A virtual model that was found, and what its targets without a model get. */
interface FoundModel {
  readonly model: ServedModel;
  readonly name: string;
}

/** The virtual models that some rules serve, by name. */
export class VirtualModelTable {
  readonly models: readonly ServedModel[];
  readonly #names: VirtualModelNames<ServedModel & Pick<VirtualModel, "aliases" | "fallback">>;
  /** By `provider/model`, for targets that have a model. */
  readonly #qualified = new Map<string, ServedModel>();
  readonly #restricted = new Map<string, ServedModel | null>();
  readonly #chains = new Map<string, readonly ChainEntry[]>();

  constructor(models: readonly ServedModel[]) {
    this.models = models;
    this.#names = new VirtualModelNames(
      models.map((model) => ({ ...model, aliases: model.record.aliases, fallback: model.record.fallback })),
    );
    for (const model of models)
      for (const target of model.targets)
        for (const provider of new Set(target.upstream.targets.map((each) => each.provider))) {
          const name = `${provider}/${target.model ?? ""}`;
          if (target.model === null || this.#qualified.has(name)) continue;
          const sent = model.targets.filter((each) => each.model === target.model);
          // A client that names a provider and a model gets these, no canary, and no copies elsewhere.
          const restricted = restrictedTo(provider, { ...model, targets: sent, canary: null, mirror: null });
          if (restricted !== null) this.#qualified.set(name, restricted);
        }
  }

  /** Finds an exact name or alias, else `provider/model`, else the longest pattern. */
  find(requested: string): FoundModel | null {
    const exact = this.#names.findExact(requested);
    if (exact !== null) return { model: exact, name: exact.name.endsWith("*") ? requested : exact.name };
    const qualified = this.#qualified.get(requested);
    if (qualified !== undefined) return { model: qualified, name: requested };
    const pattern = this.#names.findPattern(requested);
    return this.#findQualifiedPattern(requested, pattern) ?? (pattern && { model: pattern, name: requested });
  }

  /** Returns the found virtual model and its fallbacks; null if the name is not that of a virtual model. */
  chainOf(requested: string): readonly ChainEntry[] | null {
    const found = this.find(requested);
    if (found === null) return null;
    const first = { ...found, parent: -1, reasons: NO_REASONS };
    return found.model.record.fallback.length === 0 ? [first] : [first, ...this.#fallbacksOf(found.model)];
  }

  /** `openai/gpt-5` for a pattern such as `gpt-*` whose targets get the requested name. A longer pattern comes first. */
  #findQualifiedPattern(requested: string, pattern: ServedModel | null): FoundModel | null {
    const slash = requested.indexOf("/");
    if (slash <= 0) return null;
    const [provider, name] = [requested.slice(0, slash), requested.slice(slash + 1)];
    const model = this.#names.findPattern(name);
    if (model === null || (pattern !== null && pattern.name.length > 1)) return null;
    const key = `${provider} ${model.id}`;
    let restricted = this.#restricted.get(key);
    if (restricted === undefined) {
      const sent = model.targets.filter((target) => target.model === null);
      restricted = restrictedTo(provider, { ...model, targets: sent, canary: null, mirror: null });
      // Clients may send any provider, so only those that exist are kept.
      if (restricted !== null) this.#restricted.set(key, restricted);
    }
    return restricted && { model: restricted, name };
  }

  /** All fallbacks of a virtual model, depth first. Each is listed once. */
  #fallbacksOf({ id }: ServedModel): readonly ChainEntry[] {
    const known = this.#chains.get(id);
    if (known !== undefined) return known;
    const chain: ChainEntry[] = [];
    const seen = new Set([id]);
    const add = ({ record }: ServedModel, parent: number) => {
      const reasons = new Set(record.fallback_on);
      for (const fallback of record.fallback) {
        const found = this.find(fallback);
        if (found === null || seen.has(found.model.id)) continue;
        seen.add(found.model.id);
        // The requested virtual model is at place 0.
        const place = chain.push({ ...found, parent, reasons });
        add(found.model, place);
      }
    };
    const model = this.models.find((each) => each.id === id);
    if (model !== undefined) add(model, 0);
    this.#chains.set(id, chain);
    return chain;
  }
}

const NO_REASONS: ReadonlySet<FallbackReason> = new Set();

/** Returns the virtual model with only targets of this provider; null if it has none. */
function restrictedTo(provider: string, model: ServedModel): ServedModel | null {
  const targets = model.targets.flatMap((target) => {
    const upstream = serving(target.upstream, target.model, provider);
    const isServed = upstream.targets.some((each) => each.provider === provider);
    return isServed && (target.model === null || upstream.candidatesFor(target.model) !== null)
      ? { ...target, upstream }
      : [];
  });
  return targets.length === 0 ? null : { ...model, targets };
}
