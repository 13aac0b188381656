// The ledger that processes and nodes share: one script call in Redis per reservation, by Redis's clock, and the decision
// without Redis while it is unavailable.
import { systemClock, type Clock } from "../base/clock.ts";
import { REDIS_CLOSED_MS, REDIS_SILENT_MS } from "../config/settings.ts";
import { amountOf, isAmount, isClosed, refusalOf } from "./claims.ts";
import { forecastWithoutRedis, type LocalKnowledge } from "./forecast-without-redis.ts";
import { HeldReservations, type HeldReservation } from "./held-reservations.ts";
import { KnownRefusals } from "./known-refusals.ts";
import { KnownWindows } from "./known-windows.ts";
import {
  LedgerUnavailable,
  type BudgetAmounts,
  type BudgetTarget,
  type Claim,
  type ClaimState,
  type Forecast,
  type Ledger,
  type LedgerSource,
  type LedgerState,
  type Refusal,
  type Reservation,
  type UnavailablePolicy,
  type WindowTarget,
} from "./ledger.ts";
import { MemoryLedger } from "./memory-ledger.ts";
import { ReservationWithEnd } from "./open-reservation.ts";
import { RedisAccounts } from "./redis-accounts.ts";
import {
  countCall,
  endCall,
  keyOf,
  keysOf,
  recountCall,
  renewCall,
  restoreCall,
  type OpenClaims,
  type ReservationEnd,
  type ReserveReply,
} from "./redis-ledger-calls.ts";
import type { EpochLoss } from "./redis-epochs.ts";
import { RedisLedgerLink } from "./redis-ledger-link.ts";
import { CLEAR_WINDOW_SCRIPT, END_SCRIPT, RENEW_SCRIPT, RESTORE_SCRIPT } from "./redis-ledger-scripts.ts";
import type { RedisLedgerOptions } from "./redis-ledger-options.ts";

/**
 * Exact for any number of processes while Redis replies. While it does not, `local` continues with what Redis admitted through
 * this process, and `closed` waits for a moment; what is admitted meanwhile is reported to Redis when it is available again. A
 * reservation whose reply was lost is released then. A request whose reply was lost stays counted: one too many, never one too few.
 */
export class RedisLedger implements Ledger {
  readonly #options: RedisLedgerOptions;
  readonly #clock: Clock;
  readonly #closedTimeoutMs: number;
  readonly #link: RedisLedgerLink;
  /** What this process has admitted; writes what it spends to the journal. */
  readonly #local: MemoryLedger;
  readonly #accounts: RedisAccounts;
  readonly #held: HeldReservations;
  readonly #known = new KnownRefusals();
  readonly #windows = new KnownWindows();
  readonly #withoutRedis: LocalKnowledge;
  #lastId = 0;

  constructor(url: string, options: RedisLedgerOptions = {}) {
    const { clock = systemClock, silenceTimeoutMs = REDIS_SILENT_MS, time = () => 0 } = options;
    this.#options = options;
    this.#clock = clock;
    this.#closedTimeoutMs = options.closedTimeoutMs ?? REDIS_CLOSED_MS;
    this.#link = new RedisLedgerLink({
      url,
      clock,
      silenceTimeoutMs,
      closedTimeoutMs: this.#closedTimeoutMs,
      time,
      onStateChange: (state) => {
        this.#windows.recordState(state.state, clock.now());
        options.onStateChange?.(state);
      },
      onAvailable: () => this.#reportHeld(),
      onLost: (loss) => this.#recover(loss),
      onUnusableKeys: options.onUnusableKeys,
    });
    const { journal = null, onRaised = () => undefined } = options;
    this.#local = new MemoryLedger({ ...options, clock, writer: this.#link.processId, isShared: true });
    this.#accounts = new RedisAccounts({ link: this.#link, journal, mirror: this.#local, clock, onRaised });
    this.#withoutRedis = { known: this.#known, local: this.#local, clock };
    this.#held = new HeldReservations({
      clock,
      renew: (gatewayId) => void this.#renew(gatewayId),
      unwrittenOf: (claim) => this.#local.accounts.budgets.find(claim)?.unwritten,
    });
  }

  get state(): LedgerState {
    return this.#link.state;
  }

  /** Resolves after the first attempts to connect, and to charge killed processes. A server that waits for it is exact from the start. */
  get settled(): Promise<void> {
    return this.#link.settled.then(() => this.#local.settled);
  }

  /** Resolves to the installation that Redis belongs to; it becomes this one if there is none. Rejects if Redis is unavailable. */
  claim(installationId: string): Promise<string> {
    return this.#link.claim(installationId);
  }

  reserve(
    gatewayId: string,
    claims: readonly Claim[],
    policy: UnavailablePolicy,
  ): Reservation | Refusal | Promise<Reservation | Refusal> {
    for (const claim of claims) amountOf(claim);
    if (this.#link.isConnectedFor(gatewayId)) return this.#reserveInRedis(gatewayId, claims, policy);
    if (!isClosed(claims, policy)) return this.#reserveWithoutRedis(gatewayId, claims, policy);
    const wait = this.#link.untilConnected(gatewayId);
    return wait === false
      ? this.#reserveWithoutRedis(gatewayId, claims, policy)
      : this.#reserveInRedis(gatewayId, claims, policy);
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
      const open = { gatewayId, claims, keys: keysOf(gatewayId, claims) };
      const { fits, refusedBy, states, source } = await this.#accounts.decide(open, null);
      return { fits, refusedBy, states, source };
    } catch {
      return forecastWithoutRedis(claims, policy, this.#withoutRedis);
    }
  }

  knownRefusal(claims: readonly Claim[]): Refusal | null {
    return this.#known.refusalOf(claims, this.#clock.now(), this.#clock.unixNow());
  }

  async clear(gatewayId: string, target: WindowTarget | BudgetTarget): Promise<void> {
    this.#known.forget(target.key);
    if (target.kind === "budget") {
      await this.#accounts.change(gatewayId, target, { kind: "clear" });
      return;
    }
    this.#local.clear(gatewayId, target);
    const keys = [keyOf(gatewayId, target)];
    await this.#link.runOrRepeat(CLEAR_WINDOW_SCRIPT, { gatewayId, keys, args: [] });
  }

  adjust(gatewayId: string, budget: BudgetTarget, amount: number): Promise<BudgetAmounts> {
    if (!isAmount(Math.abs(amount))) throw new RangeError(`Amount ${amount} must be an integer.`);
    this.#known.forget(budget.key);
    return this.#accounts.change(gatewayId, budget, { kind: "add", amount });
  }

  read(gatewayId: string, budgets: readonly BudgetTarget[]): Promise<readonly BudgetAmounts[]> {
    return this.#accounts.read(gatewayId, budgets);
  }

  async close(): Promise<void> {
    this.#held.stop();
    await this.#local.close();
    // If Redis has lost data, this is the last time to find out, and to report what was settled.
    for (const gatewayId of this.#held.settledIn)
      void this.#link.runOrRepeat(RENEW_SCRIPT, renewCall(gatewayId));
    await this.#link.close();
  }

  async #reserveInRedis(
    gatewayId: string,
    claims: readonly Claim[],
    policy: UnavailablePolicy,
  ): Promise<Reservation | Refusal> {
    const keys = keysOf(gatewayId, claims);
    const startedAt = this.#clock.now();
    const waits = isClosed(claims, policy);
    for (;;) {
      if (waits && !(await this.#link.untilConnected(gatewayId)))
        return this.#reserveWithoutRedis(gatewayId, claims, policy);
      const open: OpenClaims = { gatewayId, claims, keys, reservationId: String(++this.#lastId) };
      const sentAt = this.#clock.now();
      try {
        const reply = await this.#accounts.decide(open, open.reservationId);
        if (reply.fits) return this.#reserved(open, reply);
        this.#remember(claims, reply, sentAt);
        this.#local.recheck(claims[reply.refusedBy]);
        return refusalOf(reply);
      } catch (error) {
        const isDatabase = error instanceof LedgerUnavailable;
        // Redis may have reserved the claims all the same, or may do so later.
        if (!isDatabase) this.#end({ ...open, isUnconfirmed: true, times: [], actualAmounts: null });
        if (!waits || isDatabase || this.#clock.now() - startedAt >= this.#closedTimeoutMs)
          return this.#reserveWithoutRedis(gatewayId, claims, policy);
      }
    }
  }

  /** `times` of a reply are null if Redis has not decided. */
  #reserved(
    open: OpenClaims,
    {
      states,
      times,
      source,
    }: { states: readonly ClaimState[]; times: readonly number[] | null; source: LedgerSource },
  ): Reservation {
    const { claims } = open;
    const endLocal = this.#local.record(claims, states);
    this.#windows.add(open);
    // Requests are counted at once: nothing is charged for them if this process dies.
    const isHeld = claims.some(({ kind }) => kind !== "requests");
    const held: HeldReservation = { ...open, isInRedis: times !== null, isEnded: false };
    if (isHeld) this.#held.add(held);
    return new ReservationWithEnd(states, source, (actualAmounts) => {
      if (isHeld) this.#held.remove(held);
      endLocal(actualAmounts);
      this.#end({ ...open, times, actualAmounts });
    });
  }

  /** Ends a reservation without waiting. If Redis is unavailable, this is repeated when it is available again. */
  #end(end: ReservationEnd): void {
    const totalOf = (claim: BudgetTarget) => this.#local.accounts.budgets.find(claim)?.spentHere ?? 0;
    const call = endCall(end, this.#link.processId, totalOf);
    if (call !== null) void this.#link.runOrRepeat(END_SCRIPT, call);
  }

  #reserveWithoutRedis(
    gatewayId: string,
    claims: readonly Claim[],
    policy: UnavailablePolicy,
  ): Reservation | Refusal {
    const forecast = forecastWithoutRedis(claims, policy, this.#withoutRedis);
    if (forecast.source !== "closed" && claims.length > 0) this.#options.onLocalDecision?.();
    if (!forecast.fits) return refusalOf(forecast);
    const keys = keysOf(gatewayId, claims);
    const open: OpenClaims = { gatewayId, claims, keys, reservationId: String(++this.#lastId) };
    const counted = countCall(open, this.#link.processId);
    if (counted !== null) void this.#link.runOrRepeat(END_SCRIPT, counted);
    return this.#reserved(open, { ...forecast, times: null });
  }

  #remember(claims: readonly Claim[], { states, fullMs }: ReserveReply, sentAt: number): void {
    for (const [at, claim] of claims.entries()) {
      const [state, full = 0] = [states[at], fullMs[at]];
      if (state !== undefined && full > 0) this.#known.record(claim, state, full, sentAt);
    }
  }

  /** Redis is available again: it learns what this process has reserved without it. */
  #reportHeld(): void {
    for (const gatewayId of this.#held.gatewayIds)
      for (const held of this.#held.of(gatewayId)) if (!held.isInRedis) void this.#restore(held);
  }

  /** What is reserved here is added again, and what was settled and may be missing in what others read of the database. */
  #recover(loss: EpochLoss): void {
    this.#options.onLost?.(loss);
    const { gatewayId } = loss;
    for (const held of this.#held.of(gatewayId)) void this.#restore(held);
    const [lostMs, now] = [Math.max(0, this.#clock.unixNow() - loss.keptUntil), this.#clock.now()];
    for (const window of this.#windows.settledIn(gatewayId, lostMs, this.#local.accounts, now)) {
      const id = `recount ${++this.#lastId}`;
      void this.#link.runOrRepeat(END_SCRIPT, recountCall(window, id, this.#link.processId));
    }
    for (const { key, claim } of this.#held.settled(gatewayId))
      this.#end({
        ...{ gatewayId, claims: [{ ...claim, amount: 0 }], keys: [key], reservationId: "" },
        ...{ times: [], actualAmounts: [0] },
      });
  }

  async #restore(held: HeldReservation): Promise<void> {
    const call = restoreCall(held, this.#link.processId);
    try {
      if (call !== null) await this.#link.run(RESTORE_SCRIPT, call);
      held.isInRedis = true;
      // Its end may have come first.
      if (held.isEnded) this.#end({ ...held, isUnconfirmed: true, times: [], actualAmounts: null });
    } catch {
      held.isInRedis = false;
    }
  }

  async #renew(gatewayId: string): Promise<void> {
    const written = this.#held.written(gatewayId);
    try {
      await this.#link.run(RENEW_SCRIPT, renewCall(gatewayId));
      this.#held.confirm(gatewayId, written);
    } catch {
      // The connection reports its state. The next renewal is early enough.
    }
  }
}
