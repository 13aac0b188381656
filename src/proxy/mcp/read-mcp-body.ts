// Reads the JSON-RPC messages in the body of a request to an MCP service, after the body has arrived, and again after plugins
// have replaced it.
import { GatehouseError } from "../../base/errors.ts";
import { RawJson } from "../../base/raw-json.ts";
import type { ValueOrPromise } from "../../base/value-or-promise.ts";
import type { OffLoop } from "../../off-loop/off-loop.ts";
import { parseMessage } from "../../mcp/parse-message.ts";
import { classifyMessage } from "../../mcp/classify-request.ts";
import type { CompiledMcpService } from "../../mcp/compiled.ts";
import { objectOf, readBatch, readMessage, RpcError, textOf, type RpcMessage } from "../../mcp/json-rpc.ts";
import { BATCH_VERSION, RPC } from "../../mcp/protocol.ts";
import type { ClientSession, SessionOwner, SessionSeal, StreamPlace } from "../../mcp/session-seal.ts";
import type { Exchange } from "../exchange.ts";
import { LargeToolCall, type McpMessages, type McpRequest, type ToolCall } from "./mcp-request.ts";

/** Returns the parsed body; a promise if it is large. Throws or rejects with a GatehouseError. */
export function parseMcpBody({ body, gateway }: Exchange, offLoop: OffLoop): ValueOrPromise<unknown> {
  if (body === null) throw new GatehouseError("invalid_json", "The body must be a JSON-RPC message.");
  return parseMessage(body.bytes, { offLoop, isUnique: true, isOwned: false, tenant: gateway?.id ?? "" });
}

/** Throws an RpcError, or a GatehouseError. `value` is the parsed body. */
export function readMcpBody(
  exchange: Exchange,
  service: CompiledMcpService,
  seal: SessionSeal,
  value: unknown,
): McpMessages {
  const session = sessionOf(exchange, service, seal);
  const isBatch = Array.isArray(value);
  const messages = isBatch ? batchOf(value, session) : [singleOf(value)];
  const header = (name: string) => exchange.request.headers.get(name);
  const generation = messages.map((message) => classifyMessage(message, header)).at(-1) ?? "session";
  const calls = messages.flatMap(toolCallOf);
  // Limits and plugins see one call per request.
  if (calls.length > 1) throw RpcError.invalidRequest("A batch must not contain more than one tools/call.");
  const [tool = null] = calls;
  if (tool instanceof LargeToolCall && hasPlugins(exchange)) tool.requireFewValues();
  if (generation === "session" && !startsSession(messages))
    requireSession(session, header("mcp-session-id") !== null);
  return {
    messages,
    isBatch,
    generation,
    session: generation === "session" ? session : null,
    tool,
  };
}

/** Whether plugins may read the arguments of a tool. */
function hasPlugins({ gateway }: Exchange): boolean {
  const chain = gateway?.chain ?? null;
  return chain !== null && (chain.pre_request !== null || chain.shadows !== null);
}

/** Returns the owner of sessions that the client of a request may use. */
export function ownerOf({ gateway, apiKey }: Exchange, { id }: CompiledMcpService): SessionOwner {
  return { gatewayId: gateway?.id ?? "", serviceId: id, client: apiKey?.id ?? "" };
}

/** Returns null if the request names no session, or one that is not the client's. */
function sessionOf(exchange: Exchange, service: CompiledMcpService, seal: SessionSeal): ClientSession | null {
  const id = exchange.request.headers.get("mcp-session-id");
  return id === null ? null : seal.open(id, ownerOf(exchange, service), exchange.clock.unixNow());
}

/**
 * Returns the place at which the client resumes an event stream; null if it resumes none, or the place is not one of its session. The
 * request that the stream responds to becomes the content, so that plugins and rights apply as to its first response.
 */
export function readResumption(
  exchange: Exchange,
  request: McpRequest,
  service: CompiledMcpService,
  seal: SessionSeal,
): StreamPlace | null {
  const lastEventId = exchange.request.headers.get("last-event-id");
  const session = sessionOf(exchange, service, seal);
  if (lastEventId === null || session === null) return null;
  const place = seal.openPlace(lastEventId, ownerOf(exchange, service), session);
  if (place === null || place.request === null) return place;
  const [tool = null] = toolCallOf(place.request);
  request.content = { messages: [place.request], isBatch: false, generation: "session", session, tool };
  return place;
}

/** Throws an RpcError if the request belongs to no session of its client. */
export function sessionOfClient(
  exchange: Exchange,
  service: CompiledMcpService,
  seal: SessionSeal,
): ClientSession {
  const session = sessionOf(exchange, service, seal);
  return requireSession(session, exchange.request.headers.has("mcp-session-id"));
}

/** Throws an RpcError if there is no session. `isNamed`: the request has the id of one. */
function requireSession(session: ClientSession | null, isNamed: boolean): ClientSession {
  if (session !== null) return session;
  throw isNamed
    ? sessionNotFound()
    : new RpcError(RPC.serverError, "The header Mcp-Session-Id is required.", { httpStatus: 400 });
}

/** A client that gets 404 starts a session again. */
function sessionNotFound(): RpcError {
  return new RpcError(RPC.sessionNotFound, "Session not found", { httpStatus: 404 });
}

function singleOf(value: unknown): RpcMessage {
  const message = readMessage(value);
  if (message === null) throw RpcError.invalidRequest("The body is not a JSON-RPC 2.0 message.");
  return message;
}

function batchOf(values: readonly unknown[], session: ClientSession | null): RpcMessage[] {
  if (session?.version !== BATCH_VERSION)
    throw RpcError.invalidRequest(`JSON-RPC batches exist only in protocol version ${BATCH_VERSION}.`);
  const messages = readBatch(values);
  if (messages === null)
    throw RpcError.invalidRequest(
      "The batch is empty, too long, contains something that is no JSON-RPC message, or two requests with the same id (numbers above 2^53 are compared as doubles). Give each request an id of its own.",
    );
  if (startsSession(messages)) throw RpcError.invalidRequest("initialize must not be part of a batch.");
  return messages;
}

function startsSession(messages: readonly RpcMessage[]): boolean {
  return messages.some((message) => message.kind === "request" && message.method === "initialize");
}

export function isSubscription(messages: readonly RpcMessage[]): boolean {
  return messages.some((message) => message.kind === "request" && message.method === "subscriptions/listen");
}

function toolCallOf(message: RpcMessage): ToolCall[] {
  if (message.kind !== "request" || message.method !== "tools/call") return [];
  const { params } = message;
  const { arguments: given } = params;
  const name = textOf(params, "name") ?? "";
  if (given instanceof RawJson) return [new LargeToolCall(name, given)];
  return [{ name, arguments: objectOf(params, "arguments") ?? {} }];
}
