// The hash of the conversation that a request belongs to, equal on all nodes. Requests of a conversation go to the same target,
// where the provider has cached its beginning.
import { hashText } from "../../balance/text-hash.ts";
import type { ValueOrPromise } from "../../base/value-or-promise.ts";
import { isLargeBody, LARGE_BODY_TIMEOUT_MS } from "../../off-loop/large-body.ts";
import type { OffLoopPart } from "../../off-loop/off-loop.ts";
import type { Exchange } from "../exchange.ts";
import { conversationTextOf } from "./conversation-text.ts";
import type * as conversationTextTask from "./conversation-text-task.ts";
import type { VirtualRoute } from "./virtual-route.ts";

const TASK = new URL("./conversation-text-task.ts", import.meta.url);
/** Headers of clients that name their session. */
const SESSION_HEADERS = ["x-session-id", "session_id", "x-claude-code-session-id"];

/** Returns 0 if no virtual model of the route needs the conversation. */
export function conversationHashOf(
  { request, body, fields }: Exchange,
  route: VirtualRoute,
  { offLoop }: OffLoopPart,
): ValueOrPromise<number> {
  if (!route.chain.some(({ model }) => model.keepsConversations)) return 0;
  for (const name of SESSION_HEADERS) {
    const session = request.headers.get(name);
    if (session !== null && session !== "") return hashText(`key ${session}`);
  }
  if (body === null || !fields.isObject) return 0;
  const { bytes } = body;
  if (isLargeBody(bytes)) {
    const limits = { bytes: bytes.byteLength, timeoutMs: LARGE_BODY_TIMEOUT_MS };
    return offLoop.run<typeof conversationTextTask>(TASK, { bytes }, limits);
  }
  const { json } = body;
  return json === null ? 0 : hashText(conversationTextOf(json));
}
