// Relays what a server sends beside responses to the client: requests, notifications, and the ids of events.
import type { JsonObject } from "../base/json.ts";
import { wantsLogMessage } from "./bridge.ts";
import type { ClientContext } from "./client-context.ts";
import type { FederationParts } from "./federation.ts";
import { notificationText, requestText, textOf, type RpcRequest } from "./json-rpc.ts";
import { RPC } from "./protocol.ts";
import type { ServerEvent } from "./server-call.ts";
import { generationOf, sendResponse, type ServerLink } from "./server-link.ts";
import { sealRequestId } from "./session-seal.ts";

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
  if (message.kind === "request") {
    if (isSession && link.isClientSession && generationOf(link) === "session")
      await sink.send(
        requestText(sealRequestId(link.server.tag, message.id), message.method, message.params),
        id,
        retry,
      );
    // Only a client session can return the client's response to the server.
    else
      await sendResponse(
        link,
        message.id,
        { result: null, error: { code: RPC.methodNotFound, message: "Not supported." } },
        parts,
      );
    return;
  }
  if (message.kind !== "notification") return;
  const params = notificationParams(context, link, message.method, message.params, parts);
  if (params === null) return;
  const isLog = message.method === "notifications/message";
  if (!isSession && isLog && !wantsLogMessage(request?.params ?? {}, params)) return;
  await sink.send(notificationText(message.method, params), id, retry);
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
