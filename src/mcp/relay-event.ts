// Relays what a server sends beside responses to the client: requests, notifications, and the ids of events.
import type { JsonObject } from "../base/json.ts";
import { wantsLogMessage } from "./bridge.ts";
import type { ClientContext } from "./client-context.ts";
import type { FederationParts } from "./federation.ts";
import {
  notificationText,
  requestText,
  textOf,
  type MessageText,
  type RpcErrorObject,
  type RpcRequest,
} from "./json-rpc.ts";
import { RPC } from "./protocol.ts";
import type { ServerEvent } from "./server-call.ts";
import { generationOf, sendResponse, type ServerLink } from "./server-link.ts";
import type { McpServerTarget } from "./server-target.ts";
import { sealRequestId } from "./session-seal.ts";

const NOT_SUPPORTED: RpcErrorObject = { code: RPC.methodNotFound, message: "Not supported." };
/** Without the plugin and its code: a server could try out what passes. */
const REFUSED: RpcErrorObject = {
  code: RPC.serverError,
  message: "The gateway does not pass this request on to the client.",
};

/** Resolves to whether the message is sent. One that a plugin refuses is left out. */
export async function relayMessage(
  { sink, observer }: ClientContext,
  { server, method }: { readonly server: McpServerTarget; readonly method: string },
  text: MessageText,
  eventId: string | null = null,
  retry: number | null = null,
): Promise<boolean> {
  const refusal = await sink.send(text, eventId, retry);
  if (refusal !== null) observer.refused(server, method, refusal.code);
  return refusal === null;
}

/** Relays a message that a server sends before the response to a request; `request` is null for messages without one. */
export async function relayEvent(
  context: ClientContext,
  link: ServerLink,
  { message, eventId, retry }: ServerEvent,
  request: RpcRequest | null,
  parts: FederationParts,
): Promise<void> {
  const { client, sink } = context;
  const isSession = client.generation === "session";
  const id =
    eventId === null || !isSession || !link.isClientSession
      ? null
      : context.sealPlace({ tag: link.server.tag, eventId, request });
  if (message === null) {
    if (id !== null) await sink.send("", id, retry);
    return;
  }
  const { server } = link;
  if (message.kind === "request") {
    const { method, params } = message;
    // Only a client session can return the client's response to the server.
    const mayRelay = isSession && link.isClientSession && generationOf(link) === "session";
    const question = sealRequestId(server.tag, message.id);
    if (mayRelay && request !== null) context.onQuestion(question);
    const isSent =
      mayRelay &&
      (await relayMessage(context, { server, method }, requestText(question, method, params), id, retry));
    if (isSent) return;
    await sendResponse(link, message.id, { result: null, error: mayRelay ? REFUSED : NOT_SUPPORTED }, parts);
    return;
  }
  if (message.kind !== "notification") return;
  const params = notificationParams(context, link, message.method, message.params, parts);
  if (params === null) return;
  const isLog = message.method === "notifications/message";
  if (!isSession && isLog && !wantsLogMessage(request?.params ?? {}, params)) return;
  const { method } = message;
  await relayMessage(context, { server, method }, notificationText(method, params), id, retry);
}

/** Returns null for a notification that the client does not get. */
function notificationParams(
  { names, client, links, access }: ClientContext,
  link: ServerLink,
  method: string,
  params: JsonObject,
  { lists }: FederationParts,
): JsonObject | null {
  const { server } = link;
  const changed = /^notifications\/(tools|prompts|resources)\/list_changed$/.exec(method)?.[1];
  if (changed !== undefined) {
    lists.invalidate(links.listOwner(server), changed);
    // Stateless clients get it only on a stream of subscriptions/listen.
    return client.generation === "session" ? params : null;
  }
  switch (method) {
    case "notifications/progress":
    case "notifications/message":
    case "notifications/elicitation/complete":
      return params;
    case "notifications/resources/updated": {
      const name = textOf(params, "uri") ?? "";
      if (access?.mayUse({ server, name, isUri: true }) === false) return null;
      return { ...params, uri: names.uriFor(server, name) };
    }
    case "notifications/cancelled": {
      const { requestId } = params;
      const isId = typeof requestId === "string" || typeof requestId === "number";
      return isId ? { ...params, requestId: sealRequestId(server.tag, requestId) } : null;
    }
    default:
      return null;
  }
}
