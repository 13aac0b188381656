// One HTTP request to an MCP server: sends a JSON-RPC message and reads the response, which is JSON or an event stream.
import { parseContentEncoding } from "../http/content-encoding.ts";
import type { BodyBudget } from "../http/body-budget.ts";
import type { BodyReader } from "../http/body-reader.ts";
import { isEventStreamType } from "../http/media-type.ts";
import { PacedReader } from "../http/paced-reader.ts";
import { decodeResponse } from "../upstream/decode-response.ts";
import { discardBody, readWholeBody } from "../upstream/read-whole-body.ts";
import type { UpstreamClient } from "../upstream/upstream-client.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import type { UpstreamResponse } from "../upstream/upstream-response.ts";
import type { Clock } from "../base/clock.ts";
import type { AcceptedCredentials } from "./accepted-credentials.ts";
import type { BriefExchanges } from "./brief-exchanges.ts";
import type { CacheOwner } from "./client-cache.ts";
import { GatehouseError } from "../base/errors.ts";
import { TurnMeter } from "../base/own-turn.ts";
import { toError } from "../base/to-error.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import { OffLoopError } from "../off-loop/off-loop-error.ts";
import { McpEventParser, type McpEvent } from "./event-stream.ts";
import { HeldAnswer } from "./held-answer.ts";
import { readBatch, readMessage, type MessageText, type RpcMessage, type RpcResponse } from "./json-rpc.ts";
import { parseMessage, type ParseOptions } from "./parse-message.ts";
import { BATCH_VERSION } from "./protocol.ts";
import type { McpServerTarget } from "./server-target.ts";

/** Limit of one message of a server, and of a response that is no event stream. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

export interface ServerCallParts {
  readonly upstream: UpstreamClient;
  readonly clock: Clock;
  readonly accepted: AcceptedCredentials;
  readonly offLoop: OffLoop;
  readonly brief: BriefExchanges;
  readonly bodyBudget: BodyBudget;
}

/** A credential of the server that a client sent. */
export interface ClientCredential {
  readonly authorization: string;
  /** Represents the credential in keys of caches and connection pools. */
  readonly digest: string;
  /** The client that sent it. */
  readonly owner: CacheOwner;
}

interface ServerRequest {
  readonly method: "POST" | "GET" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: MessageText | null;
  readonly credential: ClientCredential | null;
  /** The longest silence, in milliseconds. */
  readonly timeoutMs: number;
  /** Aborts the request; null if nothing does. */
  readonly signal: AbortSignal | null;
}

/** The response has an unexpected status. */
export class ServerStatusError extends Error {
  readonly status: number;
  /** The JSON-RPC error in the body; null if there is none. */
  readonly response: RpcResponse | null;
  /** The value of WWW-Authenticate; null if there is none. */
  readonly challenge: string | null;

  constructor(status: number, response: RpcResponse | null, challenge: string | null) {
    super(`the server responded with status ${status}`);
    this.name = "ServerStatusError";
    this.status = status;
    this.response = response;
    this.challenge = challenge;
  }
}

/** The server's response does not follow the protocol. */
export class ServerProtocolError extends Error {
  override readonly name = "ServerProtocolError";
}

/** What a response contains, in order. An event without a message sets the id for a resumption, or the time to wait. */
export interface ServerEvent {
  readonly message: RpcMessage | null;
  readonly eventId: string | null;
  readonly retry: number | null;
}

export interface ServerReply {
  readonly status: number;
  readonly sessionId: string | null;
  readonly isStream: boolean;
  events(): AsyncGenerator<ServerEvent>;
  /** Reads the body to its end, instead of `events`, so that the connection can be used again. Stops it where it is larger. */
  discard(maxBytes: number): Promise<void>;
}

/** Resolves when the headers have arrived. Rejects with an UpstreamError or a ServerStatusError. */
export async function callServer(
  server: McpServerTarget,
  request: ServerRequest,
  { upstream, clock, accepted, offLoop, bodyBudget }: ServerCallParts,
): Promise<ServerReply> {
  const { signal, credential, timeoutMs } = request;
  signal?.throwIfAborted();
  const poolKey = credential === null ? server.poolKey : `${server.poolKey} ${credential.digest}`;
  const sent = upstream.send(
    {
      baseUrl: server.baseUrl,
      poolKey,
      usesClientCredential: credential !== null,
      isTrial: credential !== null && !accepted.has(credential.owner, poolKey),
      credential: credential === null ? server.credential : null,
      path: server.path,
      method: request.method,
      headers: headersFor(server, request),
      body: typeof request.body === "string" ? Buffer.from(request.body) : request.body,
    },
    { connect: server.timeouts.connect, first_byte: timeoutMs },
    clock.now(),
  );
  const abort = () => sent.cancel();
  signal?.addEventListener("abort", abort, { once: true });
  const release = () => signal?.removeEventListener("abort", abort);
  try {
    const response = await sent.headersReceived;
    response.idleTimeoutMs = timeoutMs;
    if (credential !== null && response.ok) accepted.add(credential.owner, poolKey);
    else if (credential !== null && (response.status === 401 || response.status === 403))
      accepted.remove(credential.owner, poolKey);
    const mayBatch = request.headers["mcp-protocol-version"] === BATCH_VERSION;
    const parse = { offLoop, isUnique: false, isOwned: true, tenant: server.tag };
    const encoding = parseContentEncoding(response.headers.get("content-encoding"));
    const reader = encoding === "identity" ? response : decodeResponse(response, encoding);
    const held = new HeldAnswer(reader, bodyBudget, clock);
    const body = { reader, held, parse: (bytes: Uint8Array) => parseMessages(bytes, mayBatch, parse) };
    return await openReply(response, body, release);
  } catch (error) {
    release();
    throw error;
  }
}

function headersFor(server: McpServerTarget, request: ServerRequest): Record<string, string> {
  const headers: Record<string, string> = {
    ...server.headers,
    "user-agent": "gatehouse",
    accept: request.method === "GET" ? "text/event-stream" : "application/json, text/event-stream",
    "accept-encoding": "identity",
    ...request.headers,
  };
  if (request.body !== null) headers["content-type"] = "application/json";
  if (request.credential !== null) headers["authorization"] = request.credential.authorization;
  return headers;
}

type Parse = (bytes: Uint8Array) => Promise<readonly RpcMessage[]>;

/** The body of a response while it is read. */
interface ReplyBody {
  readonly reader: BodyReader;
  readonly held: HeldAnswer;
  readonly parse: Parse;
}

async function openReply(
  response: UpstreamResponse,
  body: ReplyBody,
  release: () => void,
): Promise<ServerReply> {
  const { status, headers } = response;
  const { reader, held } = body;
  if (!response.ok) {
    const error = await errorIn(body).finally(() => held.release());
    throw new ServerStatusError(status, error, headers.get("www-authenticate"));
  }
  const isStream = isEventStreamType(headers.get("content-type"));
  const isEmpty = !response.hasBody || status === 202 || status === 204;
  return {
    status,
    sessionId: headers.get("mcp-session-id"),
    isStream,
    async *events() {
      try {
        if (isStream) yield* streamedEvents(body);
        else if (!isEmpty) yield* await wholeMessage(body);
        else await discardBody(reader, MAX_MESSAGE_BYTES);
      } catch (error) {
        throw held.reasonOf(error);
      } finally {
        release();
        held.release();
        // Stops a stream that nobody reads to its end; has no effect after the end.
        reader.cancel();
      }
    },
    async discard(maxBytes) {
      try {
        await discardBody(response, maxBytes);
      } finally {
        release();
        response.cancel();
      }
    },
  };
}

async function* streamedEvents({ reader, held, parse }: ReplyBody): AsyncGenerator<ServerEvent> {
  const parser = new McpEventParser(MAX_MESSAGE_BYTES);
  // Comments and other lines without an event cost time, too: each piece counts, and so does each event.
  const pieces = new PacedReader(reader);
  const meter = new TurnMeter();
  for (;;) {
    const bytes = await pieces.next();
    if (bytes === null) return;
    for (const { id, retry, data } of eventsIn(parser, bytes)) {
      const messages = data.byteLength === 0 ? [null] : await parse(data);
      held.hold(parser.pendingBytes);
      // A client resumes after the id, and so after the whole batch.
      const last = messages.length - 1;
      for (const [index, message] of messages.entries())
        yield { message, eventId: index === last ? id : null, retry };
      // The work on the event is done when the next one is asked for.
      const pause = meter.add(data.byteLength);
      if (pause !== null) await pause;
    }
    held.hold(parser.pendingBytes);
  }
}

function eventsIn(parser: McpEventParser, bytes: Uint8Array): McpEvent[] {
  try {
    return parser.push(bytes);
  } catch (error) {
    throw new ServerProtocolError(toError(error).message);
  }
}

async function wholeMessage({ held, parse }: ReplyBody): Promise<ServerEvent[]> {
  const messages = await parse(await readWholeBody(held.countedReader(), MAX_MESSAGE_BYTES));
  held.release();
  return messages.map((message) => ({ message, eventId: null, retry: null }));
}

/** Servers of protocol version 2025-03-26 may send what precedes a response in one batch with it. */
async function parseMessages(
  bytes: Uint8Array,
  mayBatch: boolean,
  options: ParseOptions,
): Promise<readonly RpcMessage[]> {
  // Nothing is left of bytes that are moved to a thread.
  const size = bytes.byteLength;
  let value: unknown;
  try {
    value = await parseMessage(bytes, options);
  } catch (error) {
    if (error instanceof OffLoopError) throw error;
    throw new ServerProtocolError(problemOf(error));
  }
  if (mayBatch && Array.isArray(value)) {
    const messages = readBatch(value);
    if (messages === null) throw new ServerProtocolError("the response is not a JSON-RPC batch");
    return messages;
  }
  const message = readMessage(value);
  if (message === null) throw new ServerProtocolError("the response is not a JSON-RPC message");
  return [message.kind === "response" ? { ...message, bytes: size } : message];
}

function problemOf(error: unknown): string {
  const isKnown = error instanceof GatehouseError || (error instanceof Error && TOO_DEEP.test(error.message));
  return isKnown ? `the response was rejected: ${withoutEnd(error.message)}` : "the response is not JSON";
}

const TOO_DEEP = /nested more than \d+ levels/;

/** The message becomes a part of a sentence. */
function withoutEnd(message: string): string {
  return message.replace(/\.$/, "");
}

/** Returns the JSON-RPC error in the body of an error response; null if there is none. */
async function errorIn({ held, parse }: ReplyBody): Promise<RpcResponse | null> {
  try {
    const [message] = await parse(await readWholeBody(held.countedReader(), MAX_MESSAGE_BYTES));
    return message?.kind === "response" && message.error !== null ? message : null;
  } catch {
    return null;
  }
}

/** Whether the error says that the server did not respond, as opposed to a response that the client should see. */
export function isSilence(error: unknown): boolean {
  return (
    error instanceof UpstreamError ||
    error instanceof ServerProtocolError ||
    error instanceof ServerStatusError
  );
}
