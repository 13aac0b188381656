// Finds the reply to a question of an isolate, and sends it.
import { isThenable } from "../../base/value-or-promise.ts";
import { askHost, CHANGING_METHODS } from "./ask-host.ts";
import type { Channel } from "./channel.ts";
import { askContext } from "./context-data.ts";
import type { HeldCalls } from "./held-calls.ts";
import type { IsolatedInstance } from "./isolated-instance.ts";
import { packetOf, toErrorData, type ErrorData, type Question } from "./messages.ts";
import type { RunningCalls } from "./running-calls.ts";

/** `getResponse` returns the value, or a promise of it, or throws. */
export function respondTo(
  asked: Question,
  channel: Channel | null,
  getResponse: (asked: Question) => unknown,
): void {
  const { question, isBlocking } = asked;
  const reply = (part: { readonly value?: unknown } | { readonly error: ErrorData }) => {
    if (question === 0) return;
    const packet = packetOf({ type: "reply", question, ...part });
    if (isBlocking) channel?.sendReply(packet);
    else channel?.send(packet);
  };
  const fail = (error: unknown) => reply({ error: toErrorData(error) });
  try {
    const value = getResponse(asked);
    if (isThenable(value)) void value.then((settled) => reply({ value: settled }), fail);
    else reply({ value });
  } catch (error) {
    fail(error);
  }
}

/** What an isolate may ask about. */
interface Asked {
  readonly instances: ReadonlyMap<number, IsolatedInstance>;
  readonly calls: RunningCalls;
  readonly held: HeldCalls;
  /** The isolate may run calls that were repeated elsewhere: it must not change anything for them. */
  readonly runsLostCalls: boolean;
}

export function responseTo({ instance, call, method, args }: Question, asked: Asked): unknown {
  const { instances, calls, held, runsLostCalls } = asked;
  if (call !== 0) {
    const running = calls.get(call);
    const context = running?.context ?? held.contextOf(call);
    if (running !== undefined && method === "callService") running.isRepeatable = false;
    if (context === undefined) throw new Error("the hook has ended");
    return askContext(context, method, args);
  }
  const asking = instances.get(instance);
  if (asking === undefined) throw new Error("the instance is released");
  if (CHANGING_METHODS.has(method)) {
    if (runsLostCalls) throw new Error("the isolate did not react, and its calls were repeated");
    calls.changedBy(instance);
  }
  return askHost(asking.host, method, args);
}
