// The counters that plugins use by themselves: request limits of the ledger, which are counted at once.
import { isPromise } from "../base/value-or-promise.ts";
import type { Ledger, RequestsClaim } from "../ledger/ledger.ts";
import type { Counters, Decision, Limit } from "../sdk/counters.ts";
import type { DecisionListener } from "../snapshot/plugin-instances.ts";

type Decided = Pick<Decision, "refusedBy" | "source"> & {
  readonly states: readonly { remaining: number; resetAt: number | null; waitMs: number }[];
};

export function countersIn(ledger: Ledger, gatewayId: string): Counters {
  return {
    admit(limits, policy) {
      const decided = ledger.reserve(gatewayId, claimsOf(limits), policy);
      return isPromise(decided)
        ? decided.then((result) => decisionOf(result, result.reserved))
        : decisionOf(decided, decided.reserved);
    },
    peek(limits, policy) {
      const forecast = ledger.peek(gatewayId, claimsOf(limits), policy);
      return isPromise(forecast)
        ? forecast.then((result) => decisionOf(result, result.fits))
        : decisionOf(forecast, forecast.fits);
    },
    knownRejection(limits) {
      const refusal = ledger.knownRefusal(claimsOf(limits));
      return refusal === null ? null : decisionOf(refusal, false);
    },
    clear: (key) => ledger.clear(gatewayId, { kind: "requests", key }),
  };
}

/** A reservation of requests needs no settlement: they are counted when they are reserved. */
function claimsOf(limits: readonly Limit[]): RequestsClaim[] {
  return limits.map((limit) => ({ ...limit, kind: "requests" }));
}

function decisionOf(
  { refusedBy = -1, states, source }: Omit<Decided, "refusedBy"> & { readonly refusedBy?: number },
  admitted: boolean,
): Decision {
  return {
    admitted,
    refusedBy: source === "closed" ? -1 : refusedBy,
    states: states.map(({ remaining, resetAt, waitMs }) => ({ remaining, resetAt: resetAt ?? 0, waitMs })),
    source,
  };
}

/** Counters that decide as the real ones would, without counting the request. */
export function peekingCounters(counters: Counters, listener: DecisionListener): Counters {
  const peek: Counters["admit"] = async (limits, policy) => {
    const decision = await counters.peek(limits, policy);
    listener(limits, decision);
    return decision;
  };
  return {
    admit: peek,
    peek,
    knownRejection: () => null,
    clear: () => undefined,
  };
}
