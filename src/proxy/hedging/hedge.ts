// The second attempt of one hedged request: what it reserved, which of the two attempts served, and what the other one cost.
import type { AttemptFacts, HedgeResult } from "../../telemetry/requests/request-facts.ts";
import type { Charge, ReservedClaims } from "../budgets/reserved-claims.ts";

/** The attempt whose response was not used. */
interface UnusedAttempt {
  readonly facts: AttemptFacts;
  readonly charge: Charge;
  /** In nano-dollars; null if it is unknown. */
  readonly costNanos: number | null;
}

export interface Hedge {
  /** After how many milliseconds without content it was sent. */
  readonly afterMs: number;
  /** Null if the request has no limits of tokens and no budgets. */
  readonly reserved: ReservedClaims | null;
  /** Null while both attempts are open. */
  result: HedgeResult | null;
  /** Null while both attempts are open, and if the provider did not run the model. */
  unused: UnusedAttempt | null;
}
