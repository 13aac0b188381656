// The ledger that processes and nodes share: one script call in Redis per reservation, by Redis's clock, and the decision
// without Redis while it is unavailable.
import { systemClock, type Clock } from "../base/clock.ts";
import { REDIS_SILENT_MS } from "../config/settings.ts";
import { amountOf, forecastUnreserved, isAmount, policyOf, refusalOf } from "./claims.ts";
import { KnownRefusals } from "./known-refusals.ts";
import { Leases } from "./leases.ts";
import {
  LedgerUnavailable,
  type BudgetAmounts,
  type BudgetTarget,
  type Claim,
  type Forecast,
  type Ledger,
  type LedgerState,
  type Refusal,
  type Reservation,
  type UnavailablePolicy,
  type WindowTarget,
} from "./ledger.ts";
import { MemoryLedger } from "./memory-ledger.ts";
import { ReservationWithEnd } from "./open-reservation.ts";
import {
  keyOf,
  keysOf,
  LEASE_US,
  parseReserveReply,
  requireNumbers,
  reserveCall,
  type ReserveReply,
  type ScriptCall,
} from "./redis-ledger-calls.ts";
import { RedisLedgerLink } from "./redis-ledger-link.ts";
import {
  ADJUST_SCRIPT,
  CLEAR_WINDOW_SCRIPT,
  READ_SCRIPT,
  RENEW_SCRIPT,
  RESERVE_SCRIPT,
} from "./redis-ledger-scripts.ts";

interface RedisLedgerOptions {
  /** Called when Redis becomes available or unavailable, or the reason changes. */
  readonly onStateChange?: (state: LedgerState) => void;
  /** How long Redis may send no reply before it is unavailable. */
  readonly silenceTimeoutMs?: number;
  /** The clock of this process, for decisions without Redis, leases and timeouts. */
  readonly clock?: Clock;
  /** Milliseconds to use instead of Redis's clock, so that tests can control the time of the production scripts. */
  readonly time?: () => number;
}

/**
 * Exact for any number of processes while Redis replies. While it does not, `local` continues with what Redis admitted through
 * this process; what is settled meanwhile is charged in Redis when it is available again, also with `open`. A reservation whose
 * reply was lost is released then. A request whose reply was lost stays counted: one too many, never one too few.
 */
export class RedisLedger implements Ledger {
  readonly #clock: Clock;
  readonly #link: RedisLedgerLink;
  readonly #local: MemoryLedger;
  readonly #leases: Leases;
  readonly #known = new KnownRefusals();
  #lastId = 0;

  constructor(url: string, options: RedisLedgerOptions = {}) {
    const { clock = systemClock, silenceTimeoutMs = REDIS_SILENT_MS, time = () => 0 } = options;
    this.#clock = clock;
    this.#local = new MemoryLedger({ clock });
    this.#link = new RedisLedgerLink({
      url,
      clock,
      silenceTimeoutMs,
      time,
      onStateChange: options.onStateChange,
    });
    this.#leases = new Leases(clock, (gatewayId) => void this.#renew(gatewayId));
  }

  get state(): LedgerState {
    return this.#link.state;
  }

  /** Resolves when the first connection attempt is over. A server that waits for it is exact from the start. */
  get settled(): Promise<void> {
    return this.#link.settled;
  }

  reserve(
    gatewayId: string,
    claims: readonly Claim[],
    policy: UnavailablePolicy,
  ): Reservation | Refusal | Promise<Reservation | Refusal> {
    for (const claim of claims) amountOf(claim);
    return this.#link.isConnectedFor(gatewayId)
      ? this.#reserveInRedis(gatewayId, claims, policy)
      : this.#reserveWithoutRedis(gatewayId, claims, policy);
  }

  reserveUnavailable(
    gatewayId: string,
    claims: readonly Claim[],
    policy: UnavailablePolicy,
  ): Reservation | Refusal {
    return this.#reserveWithoutRedis(gatewayId, claims, policy);
  }

  async peek(gatewayId: string, claims: readonly Claim[], policy: UnavailablePolicy): Promise<Forecast> {
    try {
      const reply = await this.#link.run(RESERVE_SCRIPT, reserveCall(gatewayId, claims, null));
      const { fits, refusedBy, states, source } = parseReserveReply(reply, claims);
      return { fits, refusedBy, states, source };
    } catch {
      return this.#forecastWithoutRedis(claims, policy);
    }
  }

  knownRefusal(claims: readonly Claim[]): Refusal | null {
    return this.#known.refusalOf(claims, this.#clock.now(), this.#clock.unixNow());
  }

  async clear(gatewayId: string, target: WindowTarget | BudgetTarget): Promise<void> {
    if (target.kind === "budget") await this.#adjust(gatewayId, target, "clear");
    this.#local.clear(gatewayId, target);
    this.#known.forget(target.key);
    if (target.kind !== "budget")
      await this.#link.runOrRepeat(CLEAR_WINDOW_SCRIPT, {
        gatewayId,
        keys: [keyOf(gatewayId, target)],
        args: [],
      });
  }

  adjust(gatewayId: string, budget: BudgetTarget, amount: number): Promise<BudgetAmounts> {
    if (!isAmount(Math.abs(amount))) throw new RangeError(`Amount ${amount} must be an integer.`);
    this.#known.forget(budget.key);
    return this.#adjust(gatewayId, budget, String(amount));
  }

  async read(gatewayId: string, budgets: readonly BudgetTarget[]): Promise<readonly BudgetAmounts[]> {
    const keys = budgets.map((budget) => keyOf(gatewayId, budget));
    const reply = await this.#require(READ_SCRIPT, { gatewayId, keys, args: [] });
    const numbers = requireNumbers(reply, 2 * budgets.length);
    return budgets.map((_, at) => ({ spent: numbers[2 * at] ?? 0, reserved: numbers[2 * at + 1] ?? 0 }));
  }

  async close(): Promise<void> {
    this.#leases.stop();
    await this.#link.close();
  }

  async #reserveInRedis(
    gatewayId: string,
    claims: readonly Claim[],
    policy: UnavailablePolicy,
  ): Promise<Reservation | Refusal> {
    const reservationId = String(++this.#lastId);
    const keys = keysOf(gatewayId, claims);
    const sentAt = this.#clock.now();
    let reply: ReserveReply;
    try {
      const call = reserveCall(gatewayId, claims, reservationId, keys);
      reply = parseReserveReply(await this.#link.run(RESERVE_SCRIPT, call), claims);
    } catch {
      // Redis may have reserved the claims all the same, or may do so later.
      const isUnconfirmed = true;
      this.#link.end({
        gatewayId,
        claims,
        keys,
        reservationId,
        isUnconfirmed,
        times: [],
        actualAmounts: null,
      });
      return this.#reserveWithoutRedis(gatewayId, claims, policy);
    }
    if (!reply.fits) {
      this.#remember(claims, reply, sentAt);
      return refusalOf(reply);
    }
    const { times } = reply;
    const isMirrored = claims.some((claim) => policyOf(claim, policy) === "local");
    const endLocal = isMirrored ? this.#local.record(claims, reply.states) : null;
    // Requests are counted at once: nothing is charged for them if this process dies.
    const isLeased = claims.some(({ kind }) => kind !== "requests");
    if (isLeased) this.#leases.open(gatewayId);
    return new ReservationWithEnd(reply.states, reply.source, (actualAmounts) => {
      if (isLeased) this.#leases.close(gatewayId);
      endLocal?.(actualAmounts);
      this.#link.end({ gatewayId, claims, keys, reservationId, times, actualAmounts });
    });
  }

  #reserveWithoutRedis(
    gatewayId: string,
    claims: readonly Claim[],
    policy: UnavailablePolicy,
  ): Reservation | Refusal {
    const reservationId = String(++this.#lastId);
    const charge = (actualAmounts: readonly number[] | null) => {
      const keys = keysOf(gatewayId, claims);
      this.#link.end({ gatewayId, claims, keys, reservationId, times: null, actualAmounts });
    };
    const forecast = this.#forecastWithoutRedis(claims, policy);
    if (!forecast.fits) return refusalOf(forecast);
    const isLocal = claims.map((claim) => policyOf(claim, policy) === "local");
    // Decided in the same turn of the event loop, so it fits.
    const local = this.#local.reserve(
      gatewayId,
      claims.filter((_, at) => isLocal[at]),
      "local",
    );
    return new ReservationWithEnd(forecast.states, forecast.source, (actualAmounts) => {
      if (local.reserved && actualAmounts === null) local.release();
      else if (local.reserved) local.settle((actualAmounts ?? []).filter((_, at) => isLocal[at]));
      charge(actualAmounts);
    });
  }

  /** Claims whose policy is `open` fit. One whose policy is `closed` refuses. Others are decided with what this process knows. */
  #forecastWithoutRedis(claims: readonly Claim[], policy: UnavailablePolicy): Forecast {
    const unixMs = this.#clock.unixNow();
    const closed = claims.findIndex((claim) => policyOf(claim, policy) === "closed");
    if (closed !== -1) return forecastUnreserved(claims, "closed", unixMs, closed);
    const local = claims.filter((claim) => policyOf(claim, policy) === "local");
    const open = forecastUnreserved(claims, "open", unixMs);
    if (local.length === 0 && claims.length > 0) return open;
    const known = this.#known.refusalDuringOutage(local, this.#clock.now(), unixMs);
    const { refusedBy, states } = known ?? this.#local.peek("", local);
    const first = local[refusedBy];
    return {
      fits: first === undefined,
      refusedBy: first === undefined ? -1 : claims.indexOf(first),
      states: open.states.map((state, at) => {
        const claim = claims[at];
        return (claim === undefined ? undefined : states[local.indexOf(claim)]) ?? state;
      }),
      source: "local",
    };
  }

  #remember(claims: readonly Claim[], { states, fullMs }: ReserveReply, sentAt: number): void {
    for (const [at, claim] of claims.entries()) {
      const [state, full = 0] = [states[at], fullMs[at]];
      if (state !== undefined && full > 0) this.#known.record(claim, state, full, sentAt);
    }
  }

  async #adjust(gatewayId: string, budget: BudgetTarget, change: string): Promise<BudgetAmounts> {
    const args = [String(Math.round(budget.endsAt ?? 0)), change];
    const reply = await this.#require(ADJUST_SCRIPT, { gatewayId, keys: [keyOf(gatewayId, budget)], args });
    const [spent = 0, reserved = 0] = requireNumbers(reply, 2);
    return { spent, reserved };
  }

  async #require(script: string, call: ScriptCall): Promise<unknown> {
    try {
      return await this.#link.run(script, call);
    } catch {
      throw new LedgerUnavailable(this.state.detail ?? "Redis is unavailable");
    }
  }

  async #renew(gatewayId: string): Promise<void> {
    try {
      await this.#link.run(RENEW_SCRIPT, { gatewayId, keys: [], args: [LEASE_US] });
    } catch {
      // The connection reports its state. The next renewal is early enough.
    }
  }
}
