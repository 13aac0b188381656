// Forwards a request of a client to the server that it concerns, and resumes the event stream of such a request.
import type { JsonObject } from "../base/json.ts";
import { RawJson } from "../base/raw-json.ts";
import { bridgeResponse } from "./bridge.ts";
import type { ClientContext } from "./client-context.ts";
import { findTool, ownRequestId, type FederationParts } from "./federation.ts";
import { itemOf } from "./item-access.ts";
import {
  objectOf,
  RpcError,
  textOf,
  UnknownItemError,
  type RpcErrorObject,
  type RpcRequest,
  type RpcResponse,
} from "./json-rpc.ts";
import type { MergedResult } from "./inspect-parts.ts";
import { RPC } from "./protocol.ts";
import type { NamedItem } from "./public-names.ts";
import { isSilence } from "./server-call.ts";
import { observed, sendObserved } from "./observe-request.ts";
import { relayEvent } from "./relay-event.ts";
import { generationOf, openServerStream, responseIn, type ServerLink } from "./server-link.ts";
import type { McpServerTarget } from "./server-target.ts";
import type { StreamPlace } from "./session-seal.ts";
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
export type Reply = MergedResult | { readonly error: RpcErrorObject } | null;

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
          onEvent: (event) => relayEvent(context, link, event, request, parts),
        },
        parts,
      );
      return replyOf(context, link, request, response, parts);
    });
  } catch (error) {
    throw serverFailure(server, error);
  }
}

/**
 * Continues the event stream of a request after an event that the client got. Rights, definitions and plugins count as they
 * are now: the client gets nothing that it would not get if it sent the request again.
 */
export async function resumeRequest(
  context: ClientContext,
  request: RpcRequest,
  { tag, eventId }: StreamPlace,
  parts: FederationParts,
): Promise<Reply> {
  const { server, name } = await findServer(context, request, parts);
  context.observer.found(server);
  const link = context.links.sealedLink(server);
  if (server.tag !== tag || link === null)
    throw new RpcError(
      RPC.internalError,
      `The server "${server.name}" has changed since the request. Send the request again.`,
    );
  const { signal } = context;
  const timeouts = { silenceMs: server.timeouts.call, signal };
  const sent = { method: request.method, params: { name } };
  try {
    const response = await observed(context.observer, link, sent, async () => {
      const reply = await openServerStream(link, eventId, timeouts, parts);
      return responseIn(reply, request.id, (event) => relayEvent(context, link, event, request, parts));
    });
    return await replyOf(context, link, request, response, parts);
  } catch (error) {
    throw serverFailure(server, error);
  }
}

async function replyOf(
  { client, names }: ClientContext,
  link: ServerLink,
  { method }: RpcRequest,
  response: RpcResponse | null,
  { offLoop }: FederationParts,
): Promise<Reply> {
  if (response === null) return null;
  const bridge = { from: generationOf(link), to: client.generation, server: link.server, names };
  return bridgeResponse(method, response, bridge, offLoop);
}

/** Returns the error that the client gets if the server did not respond, else the error itself. */
function serverFailure({ name }: Pick<McpServerTarget, "name">, error: unknown): unknown {
  if (!isSilence(error)) return error;
  return new RpcError(
    RPC.internalError,
    `The server "${name}" did not respond as expected: ${reasonOf(error)}.`,
  );
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
    throw serverFailure({ name: context.names.find(name)?.server.name ?? "" }, error);
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
