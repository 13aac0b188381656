// The calls of hooks that an isolate is running: bounded, and each with a deadline.
import type { Clock, ClockTimer } from "../../base/clock.ts";
import type { IsolatedContexts } from "./context-data.ts";
import type { CallState } from "./isolate-error.ts";
import type { IsolatedHook } from "./messages.ts";

/** The timeout of every hook. */
export const CALL_TIMEOUT_MS = 5000;
/** Calls that are running or waiting, and the bytes of their bodies. */
const MAX_CALLS = 1000;
const MAX_CALL_BYTES = 64 * 1024 * 1024;

export interface RunningCall {
  readonly instance: number;
  readonly hook: IsolatedHook;
  readonly context: IsolatedContexts[IsolatedHook];
  readonly bytes: number;
  readonly deadlineAt: number;
  readonly settled: PromiseWithResolvers<undefined>;
  /** The hook has returned a promise. */
  isWaiting: boolean;
  /** The hook has not called a service, nor changed anything outside of the isolate. */
  isRepeatable: boolean;
}

export class RunningCalls {
  readonly #clock: Clock;
  readonly #onDeadline: (hook: IsolatedHook) => void;
  readonly #toError: (reason: string, state: CallState) => Error;
  /** In the order of their deadlines, because calls have the same timeout. */
  readonly #calls = new Map<number, RunningCall>();
  #timer: ClockTimer | null = null;
  #bytes = 0;
  #lastId = 0;

  constructor(
    clock: Clock,
    onDeadline: (hook: IsolatedHook) => void,
    toError: (reason: string, state: CallState) => Error,
  ) {
    this.#clock = clock;
    this.#onDeadline = onDeadline;
    this.#toError = toError;
  }

  get size(): number {
    return this.#calls.size;
  }

  /** Returns why there can be no further call; null if there can. A single body may have any size. */
  limitReached(waitingCount: number, bytes: number): string | null {
    if (this.#calls.size + waitingCount >= MAX_CALLS) return `${MAX_CALLS} calls wait already`;
    if (this.#bytes > 0 && this.#bytes + bytes > MAX_CALL_BYTES)
      return `calls with ${this.#bytes} bytes wait already, of ${MAX_CALL_BYTES}`;
    return null;
  }

  add<Hook extends IsolatedHook>(
    instance: number,
    hook: Hook,
    context: IsolatedContexts[Hook],
    bytes: number,
  ): { readonly id: number; readonly promise: Promise<undefined> } {
    const settled = Promise.withResolvers<undefined>();
    const deadlineAt = this.#clock.now() + CALL_TIMEOUT_MS;
    const state = { isWaiting: false, isRepeatable: true };
    this.#calls.set(++this.#lastId, { instance, hook, context, bytes, deadlineAt, settled, ...state });
    this.#bytes += bytes;
    this.#timer ??= this.#watch(CALL_TIMEOUT_MS);
    return { id: this.#lastId, promise: settled.promise };
  }

  get(id: number): RunningCall | undefined {
    return this.#calls.get(id);
  }

  /** Returns and removes a call that has ended. */
  take(id: number): RunningCall | undefined {
    const call = this.#calls.get(id);
    if (call === undefined || !this.#calls.delete(id)) return undefined;
    this.#bytes -= call.bytes;
    return call;
  }

  /** The instance has changed something outside of the isolate: no call that it may have done so for is repeated. */
  changedBy(instance: number): void {
    for (const call of this.#calls.values()) if (call.instance === instance) call.isRepeatable = false;
  }

  /** The isolate has ended. `didReact`: it would have taken further calls. */
  failAll(reason: string, didReact: boolean): void {
    this.#timer?.close();
    this.#timer = null;
    const running = this.#running();
    const now = this.#clock.now();
    for (const call of this.#calls.values()) {
      const wasRunning = call === running;
      const isOver = call.deadlineAt <= now;
      const isRepeatable = call.isRepeatable && !isOver;
      const isSlow = isOver && call.isWaiting && didReact;
      const state = { hasBegun: call.isWaiting || wasRunning, wasRunning, isRepeatable, isSlow };
      call.settled.reject(this.#toError(reason, state));
    }
    this.#calls.clear();
    this.#bytes = 0;
  }

  /**
   * The isolate does not react: fails the calls that can be repeated, but not the one that it is running. Returns whether there were
   * any.
   */
  failOthers(reason: string): boolean {
    const running = this.#running();
    const before = this.#calls.size;
    for (const [id, call] of this.#calls) {
      if (call === running || !call.isRepeatable) continue;
      this.take(id);
      const state = { hasBegun: call.isWaiting, wasRunning: false, isRepeatable: true, isSlow: false };
      call.settled.reject(this.#toError(reason, state));
    }
    return this.#calls.size < before;
  }

  /** Returns the call whose hook is on the stack of the isolate, which takes calls in their order; undefined if all are waiting. */
  #running(): RunningCall | undefined {
    for (const call of this.#calls.values()) if (!call.isWaiting) return call;
    return undefined;
  }

  /** One timer serves all calls: that of the oldest one. */
  #watch(ms: number): ClockTimer {
    const timer = this.#clock.setTimeout(() => {
      this.#timer = null;
      for (const { hook, deadlineAt } of this.#calls.values()) {
        const left = deadlineAt - this.#clock.now();
        if (left > 0) this.#timer = this.#watch(left);
        else this.#onDeadline(hook);
        break;
      }
    }, ms);
    timer.unref();
    return timer;
  }
}
