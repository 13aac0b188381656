// Forwards a request of a client to the server that it concerns, and everything that the server sends before its response.
import type { JsonObject } from "../base/json.ts";
import { RawJson } from "../base/raw-json.ts";
import { bridgeResponse, wantsLogMessage } from "./bridge.ts";
import type { ClientContext } from "./client-context.ts";
import { findTool, ownRequestId, type FederationParts } from "./federation.ts";
import { itemOf } from "./item-access.ts";
import {
  notificationText,
  objectOf,
  requestText,
  RpcError,
  textOf,
  UnknownItemError,
  type RpcErrorObject,
  type RpcRequest,
} from "./json-rpc.ts";
import { RPC } from "./protocol.ts";
import type { NamedItem } from "./public-names.ts";
import { isSilence, type ServerEvent } from "./server-call.ts";
import { sendObserved } from "./observe-request.ts";
import { generationOf, sendResponse, type ServerLink } from "./server-link.ts";
import type { McpServerTarget } from "./server-target.ts";
import { sealRequestId } from "./session-seal.ts";
import type * as headerArgumentsTask from "./header-arguments-task.ts";
import {
  headerMismatch,
  headersForArguments,
  readArguments,
  type HeaderArgument,
  type RepeatedArgument,
} from "./tool-definition.ts";
import { LARGE_BODY_TIMEOUT_MS } from "../off-loop/large-body.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";

const HEADER_ARGUMENTS = new URL("./header-arguments-task.ts", import.meta.url);

/** Null: the event stream of the server ended without a response, which the client may resume. */
export type Reply = { readonly result: JsonObject } | { readonly error: RpcErrorObject } | null;

/** Characters of a name in an error message. */
const MAX_SHOWN = 200;

interface Forwarded extends NamedItem<McpServerTarget> {
  readonly params: JsonObject;
  readonly headers: Readonly<Record<string, string>>;
}

export async function forwardRequest(
  context: ClientContext,
  request: RpcRequest,
  parts: FederationParts,
): Promise<Reply> {
  const forwarded = await findServer(context, request, parts);
  const { server } = forwarded;
  context.observer.found(server);
  try {
    return await context.links.use(server, async (link) => {
      const response = await sendObserved(
        context.observer,
        link,
        {
          id: link.isClientSession ? request.id : ownRequestId(),
          method: request.method,
          params: forwarded.params,
          headers: forwarded.headers,
          client: context.client,
          timeoutMs: server.timeouts.call,
          signal: context.signal,
          onEvent: (event) => relayEvent(context, link, event, request.params, parts, "~"),
        },
        parts,
      );
      const bridge = {
        from: generationOf(link),
        to: context.client.generation,
        server,
        names: context.names,
      };
      return response === null ? null : await bridgeResponse(request.method, response, bridge, parts.offLoop);
    });
  } catch (error) {
    if (!isSilence(error) || (error instanceof UpstreamError && error.kind === "client_left")) throw error;
    throw new RpcError(
      RPC.internalError,
      `The server "${server.name}" did not respond as expected: ${reasonOf(error)}.`,
    );
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof UpstreamError) return error.kind.replaceAll("_", " ");
  return error instanceof Error ? error.message : "unknown error";
}

async function findServer(
  context: ClientContext,
  request: RpcRequest,
  parts: FederationParts,
): Promise<Forwarded> {
  const { method, params } = request;
  if (method === "tools/call") return findCalledTool(context, params, parts);
  const isCompletion = method === "completion/complete";
  const source = isCompletion ? (objectOf(params, "ref") ?? {}) : params;
  const isPrompt = isCompletion ? source["type"] === "ref/prompt" : method === "prompts/get";
  const field = isPrompt ? "name" : "uri";
  const value = textOf(source, field);
  if (value === null)
    throw new RpcError(
      RPC.invalidParams,
      `${method} needs the text "${field}" in params${isCompletion ? ".ref" : ""}.`,
    );
  const found = itemOf(request, context.names);
  // Also for one that the client may not use: it must not find out which of them exist.
  if (found === null || context.access?.mayUse(found) === false) throw unknownItem(isPrompt, value);
  const named = { ...source, [field]: found.name };
  const { server, name } = found;
  return { server, name, params: isCompletion ? { ...params, ref: named } : named, headers: {} };
}

async function findCalledTool(
  context: ClientContext,
  params: JsonObject,
  parts: FederationParts,
): Promise<Forwarded> {
  const name = textOf(params, "name");
  if (name === null) throw new RpcError(RPC.invalidParams, 'tools/call needs the text "name" in params.');
  const callArguments = argumentsIn(params);
  if (callArguments === null && Object.hasOwn(params, "arguments"))
    throw new RpcError(RPC.invalidParams, 'tools/call needs an object in "arguments".');
  let found;
  try {
    found = await findTool(context, name, parts);
  } catch (error) {
    if (!isSilence(error)) throw error;
    const server = context.names.find(name)?.server.name ?? "";
    throw new RpcError(
      RPC.internalError,
      `The server "${server}" did not respond as expected: ${reasonOf(error)}.`,
    );
  }
  if (found === null) throw new UnknownItemError(`Unknown tool: ${name.slice(0, MAX_SHOWN)}`);
  const repeated = await repeatedArguments(found, callArguments, context, parts);
  if (repeated.length > 0 && context.client.generation === "stateless") {
    const mismatch = headerMismatch(repeated, context.header);
    if (mismatch !== null) throw new RpcError(RPC.headerMismatch, mismatch, { httpStatus: 400 });
  }
  const headers = headersForArguments(repeated);
  return { server: found.server, name: found.name, params: { ...params, name: found.name }, headers };
}

/** Returns the arguments of a call; null if there are none, or they are no object. */
function argumentsIn(params: JsonObject): JsonObject | RawJson | null {
  const { arguments: given } = params;
  if (given instanceof RawJson) return given.isObject ? given : null;
  return objectOf(params, "arguments");
}

/** Resolves to the arguments that header fields repeat. Large arguments are read in a worker thread. */
async function repeatedArguments(
  { repeated }: { readonly repeated: readonly HeaderArgument[] },
  given: JsonObject | RawJson | null,
  { gatewayId }: ClientContext,
  { offLoop }: FederationParts,
): Promise<readonly RepeatedArgument[]> {
  if (!(given instanceof RawJson)) return readArguments(repeated, given ?? {});
  if (repeated.length === 0) return [];
  const { bytes } = given;
  const limits = { bytes: bytes.byteLength, timeoutMs: LARGE_BODY_TIMEOUT_MS, tenant: gatewayId };
  return offLoop.run<typeof headerArgumentsTask>(HEADER_ARGUMENTS, { bytes, repeated }, limits);
}

function unknownItem(isPrompt: boolean, value: string): RpcError {
  const shown = value.slice(0, MAX_SHOWN);
  if (isPrompt) return new UnknownItemError(`Unknown prompt: ${shown}`);
  return new UnknownItemError(`Resource not found: ${shown}`, { uri: value.slice(0, 2000) });
}

/**
 * Relays a message that a server sends before a response, or without a request. `mark` says which stream an id of an event is of:
 * `~` that of a request, `*` that of messages without a request.
 */
export async function relayEvent(
  context: ClientContext,
  link: ServerLink,
  { message, eventId, retry }: ServerEvent,
  requestParams: JsonObject,
  parts: FederationParts,
  mark: "~" | "*",
): Promise<void> {
  const { client, sink } = context;
  const isSession = client.generation === "session";
  const id =
    eventId === null || !isSession || !link.isClientSession ? null : `${link.server.tag}${mark}${eventId}`;
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
  if (!isSession && isLog && !wantsLogMessage(requestParams, params)) return;
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

/** Whether a value is a list of texts. */
export function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
