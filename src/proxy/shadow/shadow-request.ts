// The plugins in shadow mode on one request: a queue of their calls, which run beside the request and never delay it.
import { NOT_A_MEMBER } from "../../base/dense-set.ts";
import { isPromise, type ValueOrPromise } from "../../base/value-or-promise.ts";
import type { Deadline } from "../../http/coarse-deadlines.ts";
import type { ShadowLink, ShadowLoad } from "../../snapshot/shadow-chain.ts";
import type { ShadowRun } from "../../telemetry/requests/shadow-report.ts";
import type { KnownSize } from "../budgets/request-size.ts";
import type { ReservedClaims } from "../budgets/reserved-claims.ts";
import { MAX_WAIT_MS, type ShadowTurns, type Turn } from "./shadow-turns.ts";

/**
 * Per gateway. Requests beyond these limits are served without their shadow plugins. A request counts only while calls wait or run:
 * streams of MCP servers stay open for hours.
 */
const MAX_REQUESTS = 256;
const MAX_BYTES = 64 * 1024 * 1024;
/** Beyond this part of the limits, calls are not postponed, so that no more requests are skipped because of that. */
const URGENT_SHARE = 1 / 4;
/**
 * The calls start when the request has ended, so that they do not delay it. They start after this time if it takes longer, so that
 * what is kept for them does not grow with the length of a stream. With the tick of CoarseDeadlines (50 ms) and the time that they wait for
 * a quiet moment, it is 100 ms at most.
 */
const START_MS = 50 - MAX_WAIT_MS;

/** Calls follow each other in one turn of the event loop for this long: a turn for each would take more CPU time than short calls. */
const SLICE_MS = 0.1;

/** What a shadow plugin has reserved for the request. */
interface ShadowReservation {
  readonly reserved: ReservedClaims;
  /** The copy of the request that the plugin ran on. */
  readonly exchange: { readonly knownSize: KnownSize | null };
}

/** A call of a plugin. */
export interface WaitingCall {
  run(): ValueOrPromise<void>;
  /** Called with what `run` threw. */
  fail(error: unknown): void;
}

const NO_RESERVATIONS: readonly ShadowReservation[] = [];
const NO_LISTENERS: readonly (() => void)[] = [];

export class ShadowRequest implements Deadline, Turn {
  /** Results so far. The request log shows them, also those that are added after the request has ended. */
  readonly runs: ShadowRun[] = [];
  /** Null until there is one. */
  #reservations: ShadowReservation[] | null = null;
  /** Called when the request has ended. Null until there is one. */
  #endListeners: (() => void)[] | null = null;
  readonly #load: ShadowLoad;
  /** Of all gateways: they share the event loop. */
  readonly #turns: ShadowTurns;
  readonly dueAt: number;
  setPosition = NOT_A_MEMBER;
  /** Decides on which entries run: entries with the same `sample` run on the same requests. */
  readonly #draw = Math.random();
  #bytes = 0;
  /** The first one runs if `#isRunning`. */
  readonly #calls: WaitingCall[] = [];
  #hasStarted = false;
  #isRunning = false;
  #hasEnded = false;

  private constructor(load: ShadowLoad, turns: ShadowTurns) {
    this.#load = load;
    this.#turns = turns;
    this.dueAt = turns.deadlines.clock.now() + START_MS;
    turns.deadlines.watch(this);
  }

  /** Returns null if the shadow plugins of the gateway already use too much. `size` is that of the request body. */
  static begin(load: ShadowLoad, size: number, turns: ShadowTurns): ShadowRequest | null {
    if (load.requests >= MAX_REQUESTS || load.bytes + size > MAX_BYTES) return null;
    const shadow = new ShadowRequest(load, turns);
    shadow.hold(size);
    return shadow;
  }

  isSampled({ sample }: ShadowLink): boolean {
    return this.#draw < sample;
  }

  /** Reserves memory for a copy. Returns false if the shadow plugins of the gateway already use too much. */
  hold(bytes: number): boolean {
    if (this.#load.bytes + bytes > MAX_BYTES) return false;
    this.#load.bytes += bytes;
    this.#bytes += bytes;
    return true;
  }

  /** Returns memory that was reserved with `hold`. */
  release(bytes: number): void {
    this.#load.bytes -= bytes;
    this.#bytes -= bytes;
  }

  get reservations(): readonly ShadowReservation[] {
    return this.#reservations ?? NO_RESERVATIONS;
  }

  addReservation(reservation: ShadowReservation): void {
    (this.#reservations ??= []).push(reservation);
  }

  /** `listener` is called when the request has ended. */
  onEnd(listener: () => void): void {
    (this.#endListeners ??= []).push(listener);
  }

  /** Call when the request has ended, before its last calls are added. */
  callEndListeners(): void {
    for (const listener of this.#endListeners ?? NO_LISTENERS) listener();
  }

  /** Runs a call after all calls of this request that were added before. */
  enqueue(call: WaitingCall): void {
    if (this.#calls.push(call) === 1) this.#load.requests++;
    if (this.#hasStarted && !this.#isRunning) this.#runNext();
  }

  /** Call once, when nothing will be added any more. */
  end(): void {
    this.#hasEnded = true;
    if (this.#calls.length === 0) this.#releaseAll();
    this.#start();
  }

  /** The request takes long. */
  expire(): void {
    this.#start();
  }

  #start(): void {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    this.#turns.deadlines.unwatch(this);
    if (this.#calls.length > 0) this.#runNext();
  }

  /** In a later turn of the event loop: the response is sent before. */
  #runNext(): void {
    this.#isRunning = true;
    const { requests, bytes } = this.#load;
    const isUrgent = requests > MAX_REQUESTS * URGENT_SHARE || bytes > MAX_BYTES * URGENT_SHARE;
    this.#turns.add(this, isUrgent);
  }

  /** Called in a turn of the event loop: runs calls for SLICE_MS. */
  run(): void {
    this.#runUntil(this.#turns.deadlines.clock.now() + SLICE_MS);
  }

  #runUntil(endsAt: number): void {
    do {
      const pending = this.#runFirst();
      if (pending !== null) {
        void this.#continueAfter(pending, endsAt);
        return;
      }
    } while (this.#calls.length > 0 && this.#turns.deadlines.clock.now() < endsAt);
    this.#endTurn();
  }

  async #continueAfter(pending: Promise<void>, endsAt: number): Promise<void> {
    await pending;
    if (this.#calls.length > 0 && this.#turns.deadlines.clock.now() < endsAt) this.#runUntil(endsAt);
    else this.#endTurn();
  }

  #endTurn(): void {
    this.#isRunning = false;
    if (this.#calls.length > 0) this.#runNext();
    else {
      this.#load.requests--;
      if (this.#hasEnded) this.#releaseAll();
    }
  }

  /** Returns null if the call has ended, else a promise, which does not reject. */
  #runFirst(): Promise<void> | null {
    const call = this.#calls[0];
    try {
      const pending = call?.run();
      if (isPromise(pending)) return this.#finishFirst(call, pending);
    } catch (error) {
      call?.fail(error);
    }
    this.#calls.shift();
    return null;
  }

  async #finishFirst(call: WaitingCall | undefined, pending: Promise<void>): Promise<void> {
    try {
      await pending;
    } catch (error) {
      call?.fail(error);
    } finally {
      this.#calls.shift();
    }
  }

  #releaseAll(): void {
    this.release(this.#bytes);
  }
}
