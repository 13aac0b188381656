// One game day on this node: whether faults may be injected now, the requests that it may affect, and what is counted.
import type { BalancePlan } from "../../balance/balance-plan.ts";
import type { Clock, ClockTimer } from "../../base/clock.ts";
import type { FaultType } from "../../model/game-day.ts";
import type { CompiledGameDay } from "../../snapshot/compiled-game-day.ts";
import type { GameDayStore } from "../../store/sql-game-days.ts";
import type { Log } from "../../telemetry/log/log.ts";
import { AbortWatch } from "./abort-watch.ts";
import { countRequest, noCounts, type ObservedRequest } from "./game-day-counts.ts";

/** How often the row of the game day is read. */
const READ_MS = 250;
/** Without a successful read for this long, nothing is injected. */
const MAX_AGE_MS = 2000;
/** How long a request waits for the first read, or for a claim. */
const MAX_WAIT_MS = 250;
/** Counts are written for this long after the end, because affected requests may still be in progress. */
const LINGER_MS = 10_000;

interface RunParts {
  readonly store: GameDayStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Identifies this process among those that count. */
  readonly node: string;
  readonly onEnd: (run: GameDayRun) => void;
}

export class GameDayRun {
  readonly gameDay: CompiledGameDay;
  readonly #parts: RunParts;
  readonly #counts = noCounts();
  readonly #abortWatch: AbortWatch | null;
  readonly #plans = new Map<BalancePlan, BalancePlan>();
  readonly #timer: ClockTimer;
  /** Resolves after the first read. */
  readonly #ready = Promise.withResolvers<undefined>();
  /** Aborts when faults in progress have to end. */
  #stopping = new AbortController();
  /** When the last successful read started. */
  #readAt = -Infinity;
  #isReading = false;
  /** Deleted, changed, aborted, or over: it does not start again. */
  #isOver = false;
  #overAt = Infinity;
  #isDirty = false;
  #flushing: Promise<void> | null = null;
  /** Only the first failure of an outage is logged. */
  #isFailing = false;
  #waiting: ((isClaimed: boolean) => void)[] = [];
  #isClaiming = false;

  constructor(gameDay: CompiledGameDay, parts: RunParts) {
    this.gameDay = gameDay;
    this.#parts = parts;
    const { abort_if } = gameDay.record;
    this.#abortWatch = abort_if === null ? null : new AbortWatch(abort_if);
    this.#timer = parts.clock.setInterval(() => this.#tick(), READ_MS);
    this.#timer.unref();
    void this.#read();
  }

  /** Whether faults may be injected now. */
  get isInjecting(): boolean {
    const { clock } = this.#parts;
    const { startsAt, endsAt } = this.gameDay;
    const unixNow = clock.unixNow();
    if (this.#isOver || unixNow >= endsAt || unixNow < startsAt) return false;
    return clock.now() - this.#readAt < MAX_AGE_MS;
  }

  get stopped(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Resolves to whether a matching request may be affected. */
  async admit(): Promise<boolean> {
    if (this.#readAt === -Infinity) await this.#atMost(this.#ready.promise);
    if (!this.isInjecting) return false;
    if (this.gameDay.record.max_requests === null) return true;
    const claim = Promise.withResolvers<boolean>();
    this.#waiting.push(claim.resolve);
    void this.#claim();
    return (await this.#atMost(claim.promise)) === true && this.isInjecting;
  }

  /** Returns the plan that affected requests use. */
  planOf(plan: BalancePlan): BalancePlan {
    if (!this.gameDay.record.isolated) return plan;
    let copy = this.#plans.get(plan);
    if (copy === undefined) this.#plans.set(plan, (copy = plan.simulation()));
    return copy;
  }

  /** `faults` are the types of those that were injected; empty for a request that is not affected. */
  record(request: ObservedRequest, faults: readonly FaultType[]): void {
    const { affected, others, by_fault } = this.#counts;
    const isAffected = faults.length > 0;
    countRequest(isAffected ? affected : others, request);
    for (const fault of new Set(faults)) by_fault[fault] = (by_fault[fault] ?? 0) + 1;
    this.#abortWatch?.add(request, isAffected, this.#parts.clock.now());
    this.#isDirty = true;
    if (this.#hasEnded) void this.flush();
  }

  /** Writes the counts. Resolves when they are written, or could not be. */
  flush(): Promise<void> {
    if (!this.#isDirty) return this.#flushing ?? Promise.resolve();
    this.#flushing ??= this.#write().finally(() => (this.#flushing = null));
    return this.#flushing;
  }

  /** Ends faults in progress and stops reading. */
  close(): Promise<void> {
    this.#end();
    this.#timer.close();
    return this.flush();
  }

  async #write(): Promise<void> {
    const { store, node, log } = this.#parts;
    this.#isDirty = false;
    const counts = JSON.stringify(this.#counts);
    try {
      await store.writeCounts(this.gameDay.record.id, { node, counts });
      this.#isFailing = false;
    } catch (error) {
      this.#isDirty = true;
      if (this.#isFailing) return;
      this.#isFailing = true;
      log.warn({ err: error }, "counts of a game day not written; will retry");
    }
  }

  #tick(): void {
    const now = this.#parts.clock.now();
    if (this.#parts.clock.unixNow() >= this.gameDay.endsAt) this.#end();
    if (!this.#isOver) void this.#read();
    if (!this.isInjecting) this.#stopping.abort();
    if (this.isInjecting) void this.#abortIfDue(now);
    void this.flush();
    if (!this.#hasEnded) return;
    this.#timer.close();
    this.#parts.onEnd(this);
  }

  get #hasEnded(): boolean {
    return this.#parts.clock.now() - this.#overAt > LINGER_MS;
  }

  async #read(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    const startedAt = this.#parts.clock.now();
    try {
      const row = await this.#parts.store.readRun(this.gameDay.record.id);
      if (row === null || row.abortedAt !== null || row.updatedAt !== this.gameDay.record.updated_at)
        this.#end();
      else {
        this.#readAt = startedAt;
        if (!this.#isOver && this.#stopping.signal.aborted && this.isInjecting)
          this.#stopping = new AbortController();
      }
    } catch {
      // The follower of the store reports that it is unavailable.
    } finally {
      this.#isReading = false;
      this.#ready.resolve(undefined);
    }
  }

  async #abortIfDue(now: number): Promise<void> {
    const reason = this.#abortWatch?.reasonAt(now) ?? null;
    if (reason === null) return;
    const { store, log, clock } = this.#parts;
    const { id, name } = this.gameDay.record;
    this.#end();
    const fields = { game_day_id: id, game_day: name, reason };
    try {
      const at = new Date(clock.unixNow()).toISOString();
      if (await store.abort(id, reason, at)) log.warn(fields, "game day aborted");
    } catch (error) {
      log.error({ ...fields, err: error }, "game day aborted on this node only: the store is unavailable");
    }
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#overAt = this.#parts.clock.now();
    this.#stopping.abort();
    for (const resolve of this.#waiting.splice(0)) resolve(false);
  }

  /** Claims for all requests that wait, one call at a time. */
  async #claim(): Promise<void> {
    if (this.#isClaiming) return;
    this.#isClaiming = true;
    const { id, max_requests } = this.gameDay.record;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0);
      let granted = 0;
      try {
        granted = await this.#parts.store.claim(id, batch.length, max_requests ?? 0);
      } catch {
        // Without a claim, requests are served normally.
      }
      for (const [index, resolve] of batch.entries()) resolve(index < granted);
    }
    this.#isClaiming = false;
  }

  /** Resolves to undefined if it takes too long. */
  async #atMost<T>(promise: Promise<T>): Promise<T | undefined> {
    const late = Promise.withResolvers<undefined>();
    const timer = this.#parts.clock.setTimeout(() => late.resolve(undefined), MAX_WAIT_MS);
    try {
      return await Promise.race([promise, late.promise]);
    } finally {
      timer.close();
    }
  }
}
