// One target of a virtual model, as a rule that leads to its upstream: everything that sends a request to a rule's upstream
// sends it to the target in the same way.
import type { Candidates, CompiledUpstream } from "../../snapshot/compile-upstream.ts";
import type { ChainEntry, VirtualTarget } from "../../snapshot/compile-virtual-models.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";

export interface Leg {
  /** The place of its virtual model in the chain. */
  readonly place: number;
  readonly entry: ChainEntry;
  readonly target: VirtualTarget;
  readonly rule: CompiledRule;
  /** What is sent. */
  readonly model: string;
}

/** A leg that may serve the request, with the targets of its upstream that may. */
export interface EligibleLeg extends Leg {
  readonly candidates: Candidates;
  /** Expected cost in nano-dollars; 0 if the strategy does not compare costs. */
  readonly cost: number;
}

/** Whether an operator has drained the target: it gets no requests, not even if no other target is available. */
export function isDrained({ entry, target }: Leg): boolean {
  return entry.model.plan.contenders[target.index]?.weight === 0;
}

/** By the rule of the client. The rules are kept, because telemetry has series per compiled rule. */
const RULES = new WeakMap<CompiledRule, WeakMap<CompiledUpstream, CompiledRule>>();

export function legsOf(chain: readonly ChainEntry[], rule: CompiledRule): Leg[][] {
  return chain.map((entry, place) =>
    targetsOf(entry).map((target) => ({
      place,
      entry,
      target,
      rule: ruleTo(target.upstream, rule),
      model: target.model ?? entry.name,
    })),
  );
}

/** The canary is the last one. */
function targetsOf({ model: { targets, canary } }: ChainEntry): readonly VirtualTarget[] {
  return canary === null ? targets : [...targets, canary];
}

function ruleTo(upstream: CompiledUpstream, rule: CompiledRule): CompiledRule {
  let rules = RULES.get(rule);
  if (rules === undefined) RULES.set(rule, (rules = new WeakMap()));
  let made = rules.get(upstream);
  if (made === undefined) rules.set(upstream, (made = { ...rule, upstream }));
  return made;
}
