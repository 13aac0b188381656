// What this process has admitted of the limits that it used last, to report it again if Redis lost it.
import { BoundedCache } from "../base/bounded-cache.ts";
import type { Claim } from "./ledger.ts";
import type { MemoryAccounts } from "./memory-accounts.ts";
import type { OpenClaims, WindowAmount, WindowClaim } from "./redis-ledger-calls.ts";

type KnownWindow = Omit<WindowAmount, "amount">;

const KEPT = 10_000;

export class KnownWindows {
  readonly #windows = new BoundedCache<string, KnownWindow>(KEPT);
  /** The last one, in times of the clock; `end` is null while it lasts. */
  #outage: { readonly start: number; readonly end: number | null } = { start: 0, end: 0 };

  add({ gatewayId, claims, keys }: OpenClaims): void {
    for (const [at, claim] of claims.entries()) {
      const key = keys[at] ?? "";
      if (isWindow(claim)) this.#windows.set(key, { gatewayId, key, claim });
    }
  }

  /** Call when the state of Redis changes. */
  recordState(state: "ok" | "away" | "none", now: number): void {
    if (state === "away" && this.#outage.end !== null) this.#outage = { start: now, end: null };
    else if (state === "ok" && this.#outage.end === null) this.#outage = { ...this.#outage, end: now };
  }

  /**
   * Returns what was settled in the windows of a gateway within the last milliseconds, without the last outage: what was admitted then is
   * reported by itself. Windows without anything are left out.
   */
  settledIn(
    gatewayId: string,
    lastMs: number,
    accounts: MemoryAccounts,
    now: number,
  ): readonly WindowAmount[] {
    const { start, end } = this.#outage;
    const amountOf = ({ claim }: KnownWindow) => {
      const settled = (ms: number) => accounts.settledIn(claim, Math.min(claim.windowMs, lastMs, ms), now);
      return settled(Infinity) - (settled(now - start) - settled(now - (end ?? now)));
    };
    return [...this.#windows.values()]
      .filter((known) => known.gatewayId === gatewayId)
      .map((known) => ({ ...known, amount: amountOf(known) }))
      .filter(({ amount }) => amount > 0);
  }
}

function isWindow(claim: Claim): claim is WindowClaim {
  return claim.kind !== "budget";
}
