// Sends the reply to a question of an isolate.
import { isThenable } from "../../base/value-or-promise.ts";
import type { Channel } from "./channel.ts";
import { packetOf, toErrorData, type ErrorData, type Question } from "./messages.ts";

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
