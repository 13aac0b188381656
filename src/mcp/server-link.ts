// How requests reach one MCP server: over a session, or each on its own. Adds the header fields and the `_meta` that the
// server's protocol version needs.
import { writeExact } from "../base/exact-json.ts";
import type { JsonObject } from "../base/json.ts";
import { headerText } from "./header-text.ts";
import {
  metaOf,
  notificationText,
  requestText,
  textOf,
  type MessageText,
  type RpcErrorObject,
  type RpcId,
  type RpcResponse,
} from "./json-rpc.ts";
import {
  isStatelessVersion,
  META_CLIENT_CAPABILITIES,
  META_CLIENT_INFO,
  META_LOG_LEVEL,
  META_PREFIX,
  META_VERSION,
  type Generation,
} from "./protocol.ts";
import {
  callServer,
  isSilence,
  ServerProtocolError,
  ServerStatusError,
  type ClientCredential,
  type ServerCallParts,
  type ServerEvent,
  type ServerReply,
} from "./server-call.ts";
import type { McpServerTarget } from "./server-target.ts";

/** How long the server may take to accept a notification, or to end a session. */
const NOTIFY_TIMEOUT_MS = 10_000;

export interface ServerLink {
  readonly server: McpServerTarget;
  readonly version: string;
  /** Null for servers without sessions. */
  readonly sessionId: string | null;
  /** Null: that of the configuration. */
  readonly credential: ClientCredential | null;
  /**
   * Whether the session belongs to one session of a client. Then requests keep the client's ids, by which any node can
   * cancel them. Otherwise the gateway chooses ids, because several clients may use the same one.
   */
  readonly isClientSession: boolean;
}

/** What a client says about itself. */
export interface ClientDescription {
  readonly info: JsonObject;
  /** What the client can do for a server of its own generation. */
  readonly capabilities: JsonObject;
  readonly generation: Generation;
}

export interface LinkRequest {
  readonly id: RpcId;
  readonly method: string;
  readonly params: JsonObject;
  /** Further header fields, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly client: ClientDescription;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | null;
  /** Called with everything that arrives before the response. The next event is read when the promise resolves. */
  readonly onEvent: ((event: ServerEvent) => Promise<void> | void) | null;
}

export function generationOf({ version }: Pick<ServerLink, "version">): Generation {
  return isStatelessVersion(version) ? "stateless" : "session";
}

/** The server does not know the session any more. */
export function isSessionLost(error: unknown, { sessionId }: ServerLink): boolean {
  return sessionId !== null && error instanceof ServerStatusError && error.status === 404;
}

/**
 * Resolves to the response; to null if an event stream ended without it, which the server lets the client resume. Rejects as
 * `callServer` does, and with a ServerProtocolError.
 */
export async function sendRequest(
  link: ServerLink,
  request: LinkRequest,
  parts: ServerCallParts,
): Promise<RpcResponse | null> {
  const { id, method, params, signal } = request;
  const isStateless = generationOf(link) === "stateless";
  const sentParams = isStateless ? statelessParams(link, request) : sessionParams(params);
  let isResumable = false;
  let isCanceled = false;
  // Closing the connection cancels a request of the stateless generation. Sessions need a message.
  const cancel = () => {
    if (isCanceled || isStateless || isResumable || method === "initialize") return;
    isCanceled = true;
    void sendNotification(
      link,
      "notifications/cancelled",
      { requestId: id, reason: "canceled by the client" },
      parts,
    ).catch(() => undefined);
  };
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    const reply = await callServer(
      link.server,
      {
        method: "POST",
        headers: {
          ...linkHeaders(link),
          ...(isStateless ? statelessHeaders(method, params) : {}),
          ...request.headers,
        },
        body: requestText(id, method, sentParams),
        credential: link.credential,
        timeoutMs: request.timeoutMs,
        signal,
      },
      parts,
    );
    const response = await responseIn(reply, id, (event) => {
      if (event.eventId !== null) isResumable = true;
      return request.onEvent?.(event);
    });
    if (response !== null) return response;
    if (reply.isStream && isResumable) return null;
    throw new ServerProtocolError("the response has no JSON-RPC response");
  } catch (error) {
    // The client cannot get a message, and so not the response.
    if (!isSilence(error)) cancel();
    if (error instanceof ServerStatusError && error.response !== null && !isSessionLost(error, link))
      return error.response;
    throw error;
  } finally {
    signal?.removeEventListener("abort", cancel);
  }
}

/** Resolves to the response to a request; to null if the reply ends without it. Rejects if a response is to another request. */
export async function responseIn(
  reply: ServerReply,
  id: RpcId,
  onEvent: (event: ServerEvent) => Promise<void> | void,
): Promise<RpcResponse | null> {
  for await (const event of reply.events()) {
    const { message } = event;
    if (message?.kind === "response") {
      if (message.id === id || message.error !== null) return message;
      throw new ServerProtocolError("the response has the id of another request");
    }
    await onEvent(event);
  }
  return null;
}

export async function sendNotification(
  link: ServerLink,
  method: string,
  params: JsonObject,
  parts: ServerCallParts,
): Promise<void> {
  await post(link, notificationText(method, params), parts);
}

/** Sends the client's response to a request of the server. */
export async function sendResponse(
  link: ServerLink,
  id: RpcId,
  { result, error }: { readonly result: JsonObject | null; readonly error: RpcErrorObject | null },
  parts: ServerCallParts,
): Promise<void> {
  const content = error === null ? { result: result ?? {} } : { error };
  await post(link, writeExact({ jsonrpc: "2.0", id, ...content }), parts);
}

/** Ends the start of a session. */
export function sendInitialized(link: ServerLink, parts: ServerCallParts): Promise<void> {
  const body = notificationText("notifications/initialized", {});
  return parts.brief.start(link, (signal) => send(link, "POST", body, signal, parts));
}

function post(link: ServerLink, body: MessageText, parts: ServerCallParts): Promise<void> {
  return exchange(link, "POST", body, parts);
}

/** Sends a message whose response has no content of interest. */
function exchange(
  link: ServerLink,
  method: "POST" | "DELETE",
  body: MessageText | null,
  parts: ServerCallParts,
): Promise<void> {
  return parts.brief.run(link, (signal) => send(link, method, body, signal, parts));
}

function send(
  link: ServerLink,
  method: "POST" | "DELETE",
  body: MessageText | null,
  signal: AbortSignal,
  parts: ServerCallParts,
): Promise<ServerReply> {
  const { server, credential } = link;
  const headers = linkHeaders(link);
  return callServer(
    server,
    { method, headers, body, credential, timeoutMs: NOTIFY_TIMEOUT_MS, signal },
    parts,
  );
}

/** Ends the session at the server. Errors are of no interest: the server forgets it in time. */
export async function endSession(link: ServerLink, parts: ServerCallParts): Promise<void> {
  if (link.sessionId === null) return;
  await exchange(link, "DELETE", null, parts).catch(() => undefined);
}

/** Opens the stream of messages that belong to no request. Rejects with a ServerStatusError (405) if the server has none. */
export function openServerStream(
  link: ServerLink,
  lastEventId: string | null,
  timeouts: { readonly silenceMs: number; readonly signal: AbortSignal },
  parts: ServerCallParts,
): Promise<ServerReply> {
  const { server, credential } = link;
  const headers = { ...linkHeaders(link), ...(lastEventId === null ? {} : { "last-event-id": lastEventId }) };
  const { silenceMs, signal } = timeouts;
  return callServer(
    server,
    { method: "GET", headers, body: null, credential, timeoutMs: silenceMs, signal },
    parts,
  );
}

function linkHeaders({ version, sessionId }: ServerLink): Record<string, string> {
  const headers: Record<string, string> = { "mcp-protocol-version": version };
  if (sessionId !== null) headers["mcp-session-id"] = sessionId;
  return headers;
}

/** Fields that mirror the body, for servers that route by them. */
function statelessHeaders(method: string, params: JsonObject): Record<string, string> {
  const name = method === "resources/read" ? textOf(params, "uri") : textOf(params, "name");
  const hasName = name !== null && ["tools/call", "prompts/get", "resources/read"].includes(method);
  return { "mcp-method": method, ...(hasName ? { "mcp-name": headerText(name) } : {}) };
}

function statelessParams(link: ServerLink, { params, client }: LinkRequest): JsonObject {
  const isSame = client.generation === "stateless";
  const meta = isSame ? metaOf(params) : withoutReserved(metaOf(params));
  return {
    ...params,
    _meta: {
      ...meta,
      [META_VERSION]: link.version,
      [META_CLIENT_INFO]: client.info,
      // Requests of a server to a client have another form in each generation.
      [META_CLIENT_CAPABILITIES]: isSame ? client.capabilities : {},
      ...(isSame || !Object.hasOwn(meta, META_LOG_LEVEL) ? {} : { [META_LOG_LEVEL]: meta[META_LOG_LEVEL] }),
    },
  };
}

/** Replaced or removed for servers with sessions. */
const STATELESS_PARAMS = new Set(["_meta", "inputResponses", "requestState"]);

/** Removes what only the stateless generation has. */
function sessionParams(params: JsonObject): JsonObject {
  if (!Object.hasOwn(params, "_meta")) return params;
  const rest = Object.fromEntries(Object.entries(params).filter(([key]) => !STATELESS_PARAMS.has(key)));
  const meta = withoutReserved(metaOf(params));
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
}

function withoutReserved(meta: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(meta).filter(([key]) => !key.startsWith(META_PREFIX) || key.endsWith("/related-task")),
  );
}
