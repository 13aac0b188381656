// Streams of messages that belong to no request: merges those of all servers into one for the client, for as long as the client
// listens. A stream that ends is opened again.
import type { JsonObject } from "../base/json.ts";
import type { ClientContext } from "./client-context.ts";
import { ownRequestId, type FederationParts } from "./federation.ts";
import { relayEvent, relayMessage } from "./relay-event.ts";
import { metaOf, notificationText, objectOf, resultText, RpcError, textOf, type RpcId } from "./json-rpc.ts";
import { META_SUBSCRIPTION, RPC } from "./protocol.ts";
import { NoStreamError, pause } from "./reconnects.ts";
import { ServerStatusError, type ServerEvent, type ServerReply } from "./server-call.ts";
import { generationOf, openServerStream, sendRequest, type ServerLink } from "./server-link.ts";
import { sendWithin } from "./send-within.ts";
import type { McpServerTarget } from "./server-target.ts";
import type { StreamPlace } from "./session-seal.ts";
import { StreamSession } from "./stream-session.ts";

/** A server that sends nothing for this long is asked again. Servers may send nothing for hours. */
const SILENCE_MS = 24 * 3600 * 1000;
const MAX_SUBSCRIBED_URIS = 1000;
/** For each client and server, which may end its streams as often as it likes: 100 subscriptions per second. */
const SUBSCRIBED_AT_ONCE = 50;
const SUBSCRIBE_PAUSE_MS = 500;

const ALL_CHANGES: JsonObject = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
};

/** Resolves when the client disconnects. `resumed` is the event after which the client resumes the stream of a server. */
export async function relayServerStreams(
  context: ClientContext,
  resumed: StreamPlace | null,
  parts: FederationParts,
): Promise<void> {
  const eventIdOf = ({ tag }: McpServerTarget) => (resumed?.tag === tag ? resumed.eventId : null);
  await Promise.all(context.servers.map((server) => keepStream(context, server, eventIdOf(server), parts)));
  await untilAborted(context.signal);
}

/** Relays the messages of one server until the client disconnects, or the server says that it has no stream. */
function keepStream(
  context: ClientContext,
  server: McpServerTarget,
  lastEventId: string | null,
  parts: FederationParts,
): Promise<void> {
  const { signal, links } = context;
  let resumeAt = lastEventId;
  /** The session that has the event. */
  let resumedSession = links.sealedLink(server)?.sessionId ?? null;
  return parts.reconnects.keepOpen(server, signal, (onRetry) =>
    links.use(server, async (link) => {
      if (generationOf(link) === "stateless") {
        await listen(context, link, ALL_CHANGES, parts, changeRelay(context, link, parts));
        return;
      }
      if (link.sessionId !== resumedSession) [resumeAt, resumedSession] = [null, link.sessionId];
      const relay = async (event: ServerEvent): Promise<void> => {
        if (event.retry !== null) onRetry(event.retry);
        if (event.eventId !== null) resumeAt = event.eventId;
        await relayEvent(context, link, event, null, parts);
      };
      await readStream(context, link, resumeAt, relay, parts);
    }),
  );
}

/** Rejects with a NoStreamError if the server has no stream, and with status 404 only if it does not know the session or the path. */
async function readStream(
  context: ClientContext,
  link: ServerLink,
  lastEventId: string | null,
  onEvent: (event: ServerEvent) => Promise<void>,
  parts: FederationParts,
): Promise<void> {
  const timeouts = { silenceMs: SILENCE_MS, signal: context.signal };
  let reply: ServerReply;
  try {
    reply = await openServerStream(link, lastEventId, timeouts, parts);
  } catch (error) {
    if (!(error instanceof ServerStatusError) || error.status !== 404) throw error;
    // A server without a stream, too, may respond with 404 to GET.
    await sendAndWait(context, link, "ping", {}, parts);
    throw new NoStreamError();
  }
  for await (const event of reply.events()) await onEvent(event);
}

/** Resolves when the server ends the subscription. */
async function listen(
  { client, signal }: ClientContext,
  link: ServerLink,
  notifications: JsonObject,
  parts: FederationParts,
  onEvent: (event: ServerEvent) => Promise<void> | void,
): Promise<void> {
  const request = {
    id: ownRequestId(),
    method: "subscriptions/listen",
    params: { notifications },
    headers: {},
    client,
    timeoutMs: SILENCE_MS,
    signal,
    onEvent,
  };
  await sendRequest(link, request, parts);
}

/** Relays changes of a stateless server to a client with a session. */
function changeRelay(context: ClientContext, link: ServerLink, parts: FederationParts) {
  return async (event: ServerEvent): Promise<void> => {
    const { message } = event;
    if (message?.kind !== "notification" || message.method === "notifications/subscriptions/acknowledged")
      return;
    const meta = without(metaOf(message.params), META_SUBSCRIPTION);
    await relayEvent(
      context,
      link,
      { ...event, message: { ...message, params: { ...message.params, _meta: meta } } },
      null,
      parts,
    );
  };
}

function without(object: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => key !== name));
}

/** Serves subscriptions/listen of a stateless client. Resolves when the client disconnects. */
export async function relaySubscriptions(
  context: ClientContext,
  id: RpcId,
  params: JsonObject,
  parts: FederationParts,
): Promise<void> {
  const filter = objectOf(params, "notifications");
  if (filter === null)
    throw new RpcError(RPC.invalidParams, 'subscriptions/listen needs the object "notifications" in params.');
  const uris = filter["resourceSubscriptions"] ?? [];
  if (!isTextList(uris) || uris.length > MAX_SUBSCRIBED_URIS)
    throw new RpcError(
      RPC.invalidParams,
      `resourceSubscriptions must be a list of at most ${MAX_SUBSCRIBED_URIS} URIs.`,
    );
  const honored: JsonObject = {};
  for (const name of Object.keys(ALL_CHANGES)) if (filter[name] === true) honored[name] = true;
  const known = uris.filter((uri) => {
    const found = context.names.findUri(uri);
    return found !== null && context.access?.mayUse({ ...found, isUri: true }) !== false;
  });
  if (known.length > 0) honored["resourceSubscriptions"] = known;
  const meta = { [META_SUBSCRIPTION]: id };
  const refusal = await context.sink.send(
    notificationText("notifications/subscriptions/acknowledged", { notifications: honored, _meta: meta }),
    null,
    null,
  );
  // The client waits for it.
  if (refusal !== null) throw refusal.error;
  if (Object.keys(honored).length > 0) {
    await Promise.all(
      context.servers.map((server) => keepSubscription(context, server, honored, meta, parts)),
    );
    await untilAborted(context.signal);
  }
  await context.sink.send(resultText(id, { resultType: "complete", _meta: meta }), null, null);
}

async function keepSubscription(
  context: ClientContext,
  server: McpServerTarget,
  honored: JsonObject,
  meta: JsonObject,
  parts: FederationParts,
): Promise<void> {
  const { names, links, signal } = context;
  const uris = isTextList(honored["resourceSubscriptions"]) ? honored["resourceSubscriptions"] : [];
  const own = uris.flatMap((uri) =>
    names.findUri(uri)?.server === server ? [names.findUri(uri)?.name ?? ""] : [],
  );
  const changes = without(honored, "resourceSubscriptions");
  const filter = own.length === 0 ? changes : { ...changes, resourceSubscriptions: own };
  const relay = async ({ message }: ServerEvent): Promise<void> => {
    if (message?.kind !== "notification") return;
    const { method, params } = message;
    const changed = /^notifications\/(tools|prompts|resources)\/list_changed$/.exec(method)?.[1];
    if (changed !== undefined) {
      parts.lists.invalidate(links.listOwner(server), changed);
      if (honored[`${changed}ListChanged`] === true)
        await relayMessage(context, { server, method }, notificationText(method, { _meta: meta }));
      return;
    }
    const uri = method === "notifications/resources/updated" ? textOf(params, "uri") : null;
    if (uri === null || !own.includes(uri)) return;
    const updated = notificationText(method, { uri: names.uriFor(server, uri), _meta: meta });
    await relayMessage(context, { server, method }, updated);
  };
  const session = new StreamSession(links, server, parts);
  /** The link in whose session the resources are subscribed. */
  let subscribedIn: ServerLink | null = null;
  await parts.reconnects.keepOpen(server, signal, (onRetry) =>
    session.use(async (link) => {
      if (generationOf(link) === "stateless") {
        await listen(context, link, filter, parts, relay);
        return;
      }
      // A session keeps its subscriptions when its stream ends.
      if (link !== subscribedIn) {
        await subscribeAll(context, link, own, parts);
        subscribedIn = link;
      }
      const onEvent = (event: ServerEvent): Promise<void> => {
        if (event.retry !== null) onRetry(event.retry);
        return relay(event);
      };
      await readStream(context, link, null, onEvent, parts);
    }),
  );
  session.end();
}

/** Subscribes to the resources at a bounded rate. */
async function subscribeAll(
  context: ClientContext,
  link: ServerLink,
  uris: readonly string[],
  parts: FederationParts,
): Promise<void> {
  const { signal } = context;
  for (let at = 0; at < uris.length && !signal.aborted; at += SUBSCRIBED_AT_ONCE) {
    if (at > 0) await pause(SUBSCRIBE_PAUSE_MS, signal, parts.clock);
    const some = uris.slice(at, at + SUBSCRIBED_AT_ONCE);
    await Promise.all(some.map((uri) => sendAndWait(context, link, "resources/subscribe", { uri }, parts)));
  }
}

/** Sends a request of the gateway itself, and waits until the server has responded. */
async function sendAndWait(
  { client, signal }: ClientContext,
  link: ServerLink,
  method: string,
  params: JsonObject,
  parts: FederationParts,
): Promise<void> {
  const timeoutMs = link.server.timeouts.call;
  const request = {
    id: ownRequestId(),
    method,
    params,
    headers: {},
    client,
    timeoutMs,
    signal,
    onEvent: null,
  };
  await sendWithin(link, request, parts);
}

function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<undefined>();
  signal.addEventListener("abort", () => resolve(undefined), { once: true });
  return promise;
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
