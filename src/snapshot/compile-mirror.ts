// Compiles the mirror of a virtual model. Copies have balancing state of their own, so that nothing that happens to them changes where
// the requests of clients go.
import type { BalancePlan } from "../balance/balance-plan.ts";
import type { BalanceRegistry } from "../balance/balance-registry.ts";
import type { CompiledUpstream } from "./compile-upstream.ts";

export interface CompiledMirror {
  /** Has the balancing state of copies, and does not hedge. */
  readonly upstream: CompiledUpstream;
  /** Null: the requested name is sent. */
  readonly model: string | null;
  readonly share: number;
  /** The balancing state of the requests of clients: targets that are not available to them get no copies. */
  readonly clientPlan: BalancePlan;
}

/** `upstream` has only targets that serve the model. */
export function compileMirror(
  modelId: string,
  upstream: CompiledUpstream,
  model: string | null,
  share: number,
  balance: BalanceRegistry,
): CompiledMirror {
  const { plan: clientPlan } = upstream;
  const plan = balance.plan(`mirror ${modelId}`, clientPlan.config);
  return { upstream: { ...upstream, plan, hedge: null, commit: null }, model, share, clientPlan };
}
