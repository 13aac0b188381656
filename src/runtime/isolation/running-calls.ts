// The calls of hooks that an isolate is running: bounded, and each with a deadline.
import type { Clock, ClockTimer } from "../../base/clock.ts";
import type { IsolatedContexts } from "./context-data.ts";
import type { IsolatedHook } from "./messages.ts";

/** The timeout of every hook. */
export const CALL_TIMEOUT_MS = 5000;
/** Calls that are running or waiting, and the bytes of their bodies. */
const MAX_CALLS = 1000;
const MAX_CALL_BYTES = 64 * 1024 * 1024;

interface RunningCall {
  readonly hook: IsolatedHook;
  readonly context: IsolatedContexts[IsolatedHook];
  readonly bytes: number;
  readonly deadlineAt: number;
  readonly settled: PromiseWithResolvers<undefined>;
}

export class RunningCalls {
  readonly #clock: Clock;
  readonly #onDeadline: (hook: IsolatedHook) => void;
  /** In the order of their deadlines, because calls have the same timeout. */
  readonly #calls = new Map<number, RunningCall>();
  #timer: ClockTimer | null = null;
  #bytes = 0;
  #lastId = 0;

  constructor(clock: Clock, onDeadline: (hook: IsolatedHook) => void) {
    this.#clock = clock;
    this.#onDeadline = onDeadline;
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
    hook: Hook,
    context: IsolatedContexts[Hook],
    bytes: number,
  ): { readonly id: number; readonly promise: Promise<undefined> } {
    const settled = Promise.withResolvers<undefined>();
    const deadlineAt = this.#clock.now() + CALL_TIMEOUT_MS;
    this.#calls.set(++this.#lastId, { hook, context, bytes, deadlineAt, settled });
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

  failAll(error: Error): void {
    this.#timer?.close();
    this.#timer = null;
    for (const { settled } of this.#calls.values()) settled.reject(error);
    this.#calls.clear();
    this.#bytes = 0;
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
