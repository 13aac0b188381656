// Serves a request to an MCP service after all steps: runs its messages at the servers, and responds with JSON or an event stream.
import { GatehouseError } from "../../base/errors.ts";
import { toError } from "../../base/to-error.ts";
import type { OutgoingResponse } from "../../http/server/outgoing-response.ts";
import type { ClientContext } from "../../mcp/client-context.ts";
import type { ClientSessions } from "../../mcp/client-sessions.ts";
import type { CompiledMcpService } from "../../mcp/compiled.ts";
import type { Reply } from "../../mcp/forward-request.ts";
import {
  batchText,
  errorText,
  resultText,
  RpcError,
  type MessageText,
  type RpcMessage,
  type RpcRequest,
} from "../../mcp/json-rpc.ts";
import type { McpEndpoint } from "../../mcp/mcp-endpoint.ts";
import { errorStatus } from "../../mcp/protocol.ts";
import type { ClientSession, StreamPlace } from "../../mcp/session-seal.ts";
import { captureMaskedRequest } from "../capture-bodies.ts";
import type { Exchange } from "../exchange.ts";
import type { PermissionParts } from "../client-permission.ts";
import type { FinishParts } from "../finish.ts";
import { clientContextOf } from "./mcp-context.ts";
import { ExchangeObserver } from "./mcp-observer.ts";
import { McpOutput } from "./mcp-output.ts";
import type { McpMessages, McpRequest } from "./mcp-request.ts";
import { failureOf, resultOf } from "./mcp-result.ts";
import { adoptTrace } from "./mcp-trace.ts";
import type { OpenCalls } from "./open-calls.ts";
import type { CallQuestions, OpenQuestions } from "./open-questions.ts";
import { requestError } from "./request-error.ts";
import { StreamPermission } from "./stream-permission.ts";
import { isSubscription, ownerOf, readResumption, sessionOfClient } from "./read-mcp-body.ts";

export interface McpParts extends FinishParts, PermissionParts {
  readonly mcp: McpEndpoint;
  readonly mcpSessions: ClientSessions;
  readonly mcpCalls: OpenCalls;
  readonly mcpQuestions: OpenQuestions;
  readonly isDraining: () => boolean;
}

/** Also ends the exchange, exactly once. */
export async function serveMcp(
  exchange: Exchange,
  request: McpRequest,
  service: CompiledMcpService,
  parts: McpParts,
): Promise<OutgoingResponse> {
  // Limits count the request, although no provider of models gets it.
  exchange.isServedHere = true;
  const resumed =
    exchange.method === "GET" ? readResumption(exchange, request, service, parts.mcpSessions) : null;
  if (exchange.bodies !== null) captureMaskedRequest(exchange.bodies, exchange);
  const { tracer } = parts.observation;
  if (tracer !== null) adoptTrace(exchange, request, tracer);
  if (service.servers.length === 0)
    throw new GatehouseError(
      "upstream_unreachable",
      `The service "${service.name}" has no enabled MCP server.`,
    );
  return new McpRun(exchange, request, service, resumed, parts).start();
}

/** The response to a request, before plugins inspect it as a whole. */
interface Answer {
  /** Null if there is none. */
  readonly text: MessageText | null;
  readonly httpStatus: number;
  readonly hasInspectedParts?: boolean;
}

class McpRun {
  readonly #exchange: Exchange;
  readonly #request: McpRequest;
  readonly #service: CompiledMcpService;
  /** Null unless the client resumes a stream. */
  readonly #resumed: StreamPlace | null;
  readonly #parts: McpParts;
  readonly #output: McpOutput;
  readonly #questions: CallQuestions;

  constructor(
    exchange: Exchange,
    request: McpRequest,
    service: CompiledMcpService,
    resumed: StreamPlace | null,
    parts: McpParts,
  ) {
    this.#exchange = exchange;
    this.#request = request;
    this.#service = service;
    this.#resumed = resumed;
    this.#parts = parts;
    this.#questions = parts.mcpQuestions.of(exchange);
    const messages = request.content?.messages ?? [];
    const isEndless = exchange.method === "GET" || isSubscription(messages);
    const relaysAll = isEndless && (request.content === null || isSubscription(messages));
    const permission = new StreamPermission(exchange, service, relaysAll ? null : messages, parts);
    this.#output = new McpOutput(exchange, request, isEndless, {
      ...parts,
      keptSessions: (gatewayId) => parts.mcp.keptSessions(gatewayId),
      refusal: () => permission.refusal(),
    });
  }

  /** Rejects if nothing has been sent: the caller responds with the error. */
  start(): Promise<OutgoingResponse> {
    this.#run()
      .catch((error: unknown) => this.#fail(error))
      .catch((error: unknown) => this.#output.fail(error))
      .finally(() => this.#questions.end());
    return this.#output.response;
  }

  async #run(): Promise<void> {
    const { method } = this.#exchange;
    if (method === "GET") await this.#stream();
    else if (method === "DELETE") await this.#end();
    else await this.#messages(this.#request.content);
  }

  async #stream(): Promise<void> {
    const context = this.#sessionContext(this.#session());
    const resumed = this.#resumed;
    const isResumption = this.#exchange.request.headers.has("last-event-id");
    if (resumed === null && isResumption)
      throw RpcError.invalidRequest(
        "Last-Event-ID is no event that this client got in this session. Send the request again, or open the stream without the header.",
      );
    this.#output.beginStream();
    if (resumed !== null && resumed.request !== null) {
      await this.#messages(this.#request.content);
      return;
    }
    await this.#parts.mcp.stream(context, resumed);
    this.#output.endStream("complete");
  }

  async #end(): Promise<void> {
    const session = this.#session();
    const id = this.#exchange.request.headers.get("mcp-session-id") ?? "";
    this.#parts.mcpSessions.end(id, ownerOf(this.#exchange, this.#service), session);
    await this.#parts.mcp.end(this.#sessionContext(session));
    await this.#output.respond(null, 204);
  }

  /** Throws an RpcError if the request belongs to no session. */
  #session(): ClientSession {
    return sessionOfClient(this.#exchange, this.#service, this.#parts.mcpSessions);
  }

  #sessionContext(session: ClientSession): ClientContext {
    return this.#context({ messages: [], isBatch: false, generation: "session", session, tool: null });
  }

  #context(content: McpMessages): ClientContext {
    return clientContextOf(this.#exchange, this.#request, content, {
      service: this.#service,
      endpoint: this.#parts.mcp,
      ownCredentials: this.#parts.ownCredentials,
      seal: this.#parts.mcpSessions,
      observer: new ExchangeObserver(this.#exchange, this.#request, this.#output.metrics, this.#parts.log),
      sink: this.#output,
      onQuestion: (id) => this.#questions.add(id),
    });
  }

  async #messages(content: McpMessages | null): Promise<void> {
    if (content === null) throw new Error("the body of an MCP request was not read");
    const { headers } = this.#exchange.request;
    // The header of a request without a session may name that of another client.
    const sessionId = content.session === null ? "" : (headers.get("mcp-session-id") ?? "");
    const context = this.#context(content);
    const texts: MessageText[] = [];
    const requests = content.messages.filter(({ kind }) => kind === "request");
    let [status, open] = [200, requests.length];
    const respond = async (request: RpcRequest): Promise<void> => {
      const { text, httpStatus, hasInspectedParts = false } = await this.#call(context, request, sessionId);
      status = httpStatus;
      const isLast = --open === 0;
      if (text !== null) texts.push(await this.#output.inspect(text, { isLast, hasInspectedParts }));
    };
    /** Why messages without a response were not accepted. */
    const failures: Error[] = [];
    await Promise.all(
      content.messages.map(async (message) => {
        const isRequest = message.kind === "request";
        try {
          await (isRequest ? respond(message) : this.#pass(context, message, sessionId));
        } catch (error) {
          if (!content.isBatch) throw error;
          // A message of a batch that fails does not end the others.
          if (isRequest) texts.push(this.#failed(message, error));
          else {
            failures.push(toError(error));
            this.#exchange.errorCode ??= "mcp_error";
          }
        }
      }),
    );
    if (requests.length === 0 && failures[0] !== undefined) throw failures[0];
    if (requests.length === 0) await this.#output.respond(null, 202);
    else if (texts.length === 0) this.#output.endWithoutResponse();
    else
      await this.#output.result(
        content.isBatch ? batchText(texts) : (texts[0] ?? ""),
        content.isBatch ? 200 : status,
      );
  }

  /** Returns the response to a request of a batch that a plugin has refused, or that has failed. */
  #failed(request: RpcRequest, cause: unknown): MessageText {
    const { status, error } = requestError(cause, this.#exchange, this.#parts.log);
    if (request === this.#request.main) this.#request.ended(status < 500 ? "refused" : "failed", error.code);
    return errorText(request.id, error);
  }

  async #pass(
    context: ClientContext,
    message: Exclude<RpcMessage, RpcRequest>,
    sessionId: string,
  ): Promise<void> {
    if (message.kind === "response") await this.#parts.mcp.respond(context, message);
    else {
      if (message.method === "notifications/cancelled")
        this.#parts.mcpCalls.cancel(sessionId, message.params["requestId"]);
      this.#parts.mcp.notify(context, message);
    }
  }

  async #call(context: ClientContext, request: RpcRequest, sessionId: string): Promise<Answer> {
    if (request.method === "initialize" && context.client.generation === "session")
      return this.#initialize(context, request);
    const release = this.#parts.mcpCalls.add(sessionId, request.id, this.#request);
    try {
      const { mcp } = this.#parts;
      const resumed = this.#resumed;
      const reply: Reply = await (resumed === null
        ? mcp.request(context, request)
        : mcp.resume(context, request, resumed));
      if (reply === null) return { text: null, httpStatus: 200 };
      if (request === this.#request.main) this.#request.ended(...resultOf(request, reply));
      if ("result" in reply) {
        const { result, hasInspectedParts = false } = reply;
        return { text: resultText(request.id, result), httpStatus: 200, hasInspectedParts };
      }
      const httpStatus = errorStatus(reply.error.code, context.client.generation);
      return { text: errorText(request.id, reply.error), httpStatus };
    } catch (error) {
      if (this.#request.signal.aborted) return { text: null, httpStatus: 200 };
      if (!(error instanceof RpcError)) throw error;
      return this.#error(request, error);
    } finally {
      release();
    }
  }

  async #initialize(context: ClientContext, request: RpcRequest): Promise<Answer> {
    try {
      const {
        session,
        result,
        hasInspectedParts = false,
      } = await this.#parts.mcp.initialize(context, request);
      this.#output.headers.set(
        "Mcp-Session-Id",
        this.#parts.mcpSessions.seal(session, ownerOf(this.#exchange, this.#service)),
      );
      this.#request.ended("ok");
      return { text: resultText(request.id, result), httpStatus: 200, hasInspectedParts };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return this.#error(request, error);
    }
  }

  #error(request: RpcRequest, error: RpcError): Answer {
    this.#exchange.errorCode ??= "mcp_error";
    if (request === this.#request.main) this.#request.ended(failureOf(error), error.code);
    return { text: errorText(request.id, error.toObject()), httpStatus: error.httpStatus };
  }

  async #fail(error: unknown): Promise<void> {
    if (!(error instanceof RpcError) || this.#output.isStream) {
      await this.#output.fail(error);
      return;
    }
    this.#exchange.errorCode ??= "mcp_error";
    this.#request.ended(failureOf(error), error.code);
    await this.#output.respondWithJson(errorText(null, error.toObject()), error.httpStatus);
  }
}
