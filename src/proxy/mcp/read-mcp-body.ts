// Reads the JSON-RPC messages in the body of a request to an MCP service, after the body has arrived, and again after plugins
// have replaced it.
import { GatehouseError } from "../../base/errors.ts";
import { parseExact } from "../../base/exact-json.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { JsonScanner } from "../../base/json-scanner.ts";
import { classifyMessage } from "../../mcp/classify-request.ts";
import type { CompiledMcpService } from "../../mcp/compiled.ts";
import { objectOf, readBatch, readMessage, RpcError, textOf, type RpcMessage } from "../../mcp/json-rpc.ts";
import { BATCH_VERSION, RPC } from "../../mcp/protocol.ts";
import type { ClientSession, SessionOwner, SessionSeal } from "../../mcp/session-seal.ts";
import type { Exchange } from "../exchange.ts";
import type { McpMessages, ToolCall } from "./mcp-request.ts";

/** Receivers may disagree on the value of a field that occurs twice. */
const scanner = new JsonScanner(["jsonrpc", "id", "method", "params", "result", "error"]);
const PARAMS = 3;
const paramsScanner = new JsonScanner(["name", "arguments", "uri", "ref", "_meta"]);

/** Throws an RpcError or a GatehouseError. */
export function readMcpBody(exchange: Exchange, service: CompiledMcpService, seal: SessionSeal): McpMessages {
  const bytes = exchange.body?.bytes ?? null;
  if (bytes === null) throw new GatehouseError("invalid_json", "The body must be a JSON-RPC message.");
  const value = parseBody(bytes);
  const session = sessionOf(exchange, service, seal);
  const isBatch = Array.isArray(value);
  const messages = isBatch ? batchOf(value, session) : [singleOf(value)];
  const header = (name: string) => exchange.request.headers.get(name);
  const generation = messages.map((message) => classifyMessage(message, header)).at(-1) ?? "session";
  const calls = messages.flatMap(toolCallOf);
  // Limits and plugins see one call per request.
  if (calls.length > 1) throw RpcError.invalidRequest("A batch must not contain more than one tools/call.");
  if (generation === "session" && !startsSession(messages))
    requireSession(session, header("mcp-session-id") !== null);
  return {
    messages,
    isBatch,
    generation,
    session: generation === "session" ? session : null,
    tool: calls[0] ?? null,
  };
}

/** Returns the owner of sessions that the client of a request may use. */
export function ownerOf({ gateway, apiKey }: Exchange, { id }: CompiledMcpService): SessionOwner {
  return { gatewayId: gateway?.id ?? "", serviceId: id, client: apiKey?.id ?? "" };
}

/** Returns null if the request names no session, or one that is not the client's. */
export function sessionOf(
  exchange: Exchange,
  service: CompiledMcpService,
  seal: SessionSeal,
): ClientSession | null {
  const id = exchange.request.headers.get("mcp-session-id");
  return id === null ? null : seal.open(id, ownerOf(exchange, service), exchange.clock.unixNow());
}

/** Throws an RpcError if there is no session. `isNamed`: the request has the id of one. */
export function requireSession(session: ClientSession | null, isNamed: boolean): ClientSession {
  if (session !== null) return session;
  throw isNamed
    ? sessionNotFound()
    : new RpcError(RPC.serverError, "The header Mcp-Session-Id is required.", { httpStatus: 400 });
}

/** A client that gets 404 starts a session again. */
export function sessionNotFound(): RpcError {
  return new RpcError(RPC.sessionNotFound, "Session not found", { httpStatus: 404 });
}

function parseBody(bytes: Uint8Array): unknown {
  const kind = scanner.scan(bytes);
  if (kind === "invalid") throw new GatehouseError("invalid_json", "The body is not valid JSON in UTF-8.");
  if (kind === "too_deep" || kind === "too_dense")
    throw new GatehouseError("invalid_json", "The body is nested too deeply.");
  if (kind === "object") rejectDuplicates(bytes);
  // Without a byte order mark, which the scanner skips, too.
  return parseExact(new TextDecoder().decode(bytes));
}

function rejectDuplicates(bytes: Uint8Array): void {
  let hasDuplicates = scanner.duplicate !== null;
  const start = scanner.startOf(PARAMS);
  if (start >= 0 && paramsScanner.scan(bytes.subarray(start, scanner.endOf(PARAMS))) === "object")
    hasDuplicates ||= paramsScanner.duplicate !== null;
  if (hasDuplicates)
    throw new GatehouseError("invalid_json", "The body contains a field of JSON-RPC or MCP twice.");
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
      "The batch is empty, too long, or contains something that is no JSON-RPC message.",
    );
  if (startsSession(messages)) throw RpcError.invalidRequest("initialize must not be part of a batch.");
  return messages;
}

function startsSession(messages: readonly RpcMessage[]): boolean {
  return messages.some((message) => message.kind === "request" && message.method === "initialize");
}

function toolCallOf(message: RpcMessage): ToolCall[] {
  if (message.kind !== "request" || message.method !== "tools/call") return [];
  const { params } = message;
  const given: JsonObject = objectOf(params, "arguments") ?? {};
  return isJsonObject(params) ? [{ name: textOf(params, "name") ?? "", arguments: given }] : [];
}
