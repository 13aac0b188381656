// Calls whose hook has ended and whose response waits for a decision of the isolated plugin (`context.holdResponse`).
import type { Clock, ClockTimer } from "../../base/clock.ts";
import { toError } from "../../base/to-error.ts";
import type { PluginResponse, RequestContext } from "../../sdk/index.ts";
import { applyLateEffects, applyReports, decidedResponse } from "./apply-effects.ts";
import { fromErrorData, type FromIsolate } from "./messages.ts";

/** As long as the request waits for a decision. After that, the isolate cannot ask about the request any more. */
const MAX_HOLD_MS = 30_000;

interface HeldCall {
  readonly context: RequestContext;
  readonly decided: PromiseWithResolvers<PluginResponse | null>;
  readonly timer: ClockTimer;
}

export class HeldCalls {
  readonly #clock: Clock;
  readonly #calls = new Map<number, HeldCall>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#calls.size;
  }

  contextOf(id: number): RequestContext | undefined {
    return this.#calls.get(id)?.context;
  }

  hold(id: number, context: RequestContext): void {
    const decided = Promise.withResolvers<PluginResponse | null>();
    // The request itself fails at the same time: nothing waits for the decision then.
    const timer = this.#clock.setTimeout(() => this.#calls.delete(id), MAX_HOLD_MS);
    timer.unref();
    this.#calls.set(id, { context, decided, timer });
    context.holdResponse(decided.promise);
  }

  decide(message: Extract<FromIsolate, { type: "decided" }>, blobs: readonly Uint8Array[]): void {
    const held = this.#calls.get(message.call);
    if (held === undefined) return;
    this.#calls.delete(message.call);
    held.timer.close();
    const { context, decided } = held;
    try {
      if (message.error !== null) {
        applyReports(context, message.effects);
        decided.reject(fromErrorData(message.error));
        return;
      }
      applyLateEffects(context, message.effects);
      decided.resolve(decidedResponse(message.response, blobs));
    } catch (error) {
      decided.reject(toError(error));
    }
  }

  failAll(error: Error): void {
    for (const { decided, timer } of this.#calls.values()) {
      timer.close();
      decided.reject(error);
    }
    this.#calls.clear();
  }
}
