// What a ledger in Redis decides while Redis is unavailable.
import type { Clock } from "../base/clock.ts";
import { forecastUnreserved, policyOf } from "./claims.ts";
import type { KnownRefusals } from "./known-refusals.ts";
import type { Claim, Forecast, UnavailablePolicy } from "./ledger.ts";
import type { MemoryLedger } from "./memory-ledger.ts";

/** What this process knows by itself. */
export interface LocalKnowledge {
  readonly known: KnownRefusals;
  /** What this process has admitted. */
  readonly local: MemoryLedger;
  readonly clock: Clock;
}

/** Claims whose policy is `open` fit. One whose policy is `closed` refuses. Others are decided with what this process knows. */
export function forecastWithoutRedis(
  claims: readonly Claim[],
  policy: UnavailablePolicy,
  { known, local, clock }: LocalKnowledge,
): Forecast {
  const unixMs = clock.unixNow();
  const closed = claims.findIndex((claim) => policyOf(claim, policy) === "closed");
  if (closed !== -1) return forecastUnreserved(claims, "closed", unixMs, closed);
  const decided = claims.filter((claim) => policyOf(claim, policy) === "local");
  const open = forecastUnreserved(claims, "open", unixMs);
  if (decided.length === 0 && claims.length > 0) return open;
  const refusal = known.refusalDuringOutage(decided, clock.now(), unixMs);
  const { refusedBy, states } = refusal ?? local.peek("", decided);
  const first = decided[refusedBy];
  return {
    fits: first === undefined,
    refusedBy: first === undefined ? -1 : claims.indexOf(first),
    states: open.states.map((state, at) => {
      const claim = claims[at];
      return (claim === undefined ? undefined : states[decided.indexOf(claim)]) ?? state;
    }),
    source: "local",
  };
}
