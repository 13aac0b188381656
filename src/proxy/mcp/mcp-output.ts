// What the client of an MCP service gets: JSON or an event stream, after the plugins of post_request and pre_response. Ends the
// exchange, exactly once.
import { toError } from "../../base/to-error.ts";
import { HeaderFields } from "../../http/header-fields.ts";
import { OutgoingResponse } from "../../http/server/outgoing-response.ts";
import type { MessageText } from "../../mcp/json-rpc.ts";
import { MessageRefusal } from "../../mcp/message-refusal.ts";
import type { ObservedMcp } from "../../telemetry/metrics/observed-mcp.ts";
import type { Outcome } from "../../telemetry/requests/request-facts.ts";
import type { Refusal } from "../client-permission.ts";
import type { Exchange } from "../exchange.ts";
import { finish, type FinishParts } from "../finish.ts";
import { runPostRequest } from "../run-plugins.ts";
import { MessagePlugins, originOf, type MessageInspection } from "./message-plugins.ts";
import { knownRefusal, rpcErrorBody } from "./mcp-error.ts";
import { McpReply } from "./mcp-reply.ts";
import type { McpRequest } from "./mcp-request.ts";

interface OutputParts extends FinishParts {
  readonly isDraining: () => boolean;
  /** Returns why the client must not get more of a stream, or null. */
  readonly refusal: () => Refusal | null;
  /** Returns the number of sessions with servers that are kept for a gateway. */
  readonly keptSessions: (gatewayId: string) => number;
}

export class McpOutput {
  readonly headers = new HeaderFields();
  readonly metrics: ObservedMcp;
  readonly #exchange: Exchange;
  readonly #request: McpRequest;
  readonly #parts: OutputParts;
  readonly #reply: McpReply;
  readonly #plugins: MessagePlugins;
  readonly #response = Promise.withResolvers<OutgoingResponse>();
  /** The client keeps the stream open. */
  readonly #isEndless: boolean;
  /** Whether the stream has ended because its client may not continue. */
  #isRefused = false;

  constructor(exchange: Exchange, request: McpRequest, isEndless: boolean, parts: OutputParts) {
    this.#exchange = exchange;
    this.#request = request;
    this.#parts = parts;
    this.#isEndless = isEndless;
    this.#plugins = new MessagePlugins(exchange, parts);
    const { gateway } = exchange;
    this.metrics = parts.observation.routes.gateway(gateway, gateway?.gateway.name ?? "").mcp;
    this.#reply = new McpReply({
      clock: exchange.clock,
      deadlines: parts.deadlines,
      offLoop: parts.offLoop,
      tenant: gateway?.id ?? "",
      onStream: () => void this.#openStream(),
      onDisconnect: () => request.abort(),
      onCheck: () => this.#check(),
    });
    this.headers.set("X-Request-Id", exchange.requestId);
    this.headers.set("Cache-Control", "no-store");
    exchange.addResponseHeaders(this.headers);
  }

  /** Rejects if nothing has been sent: the caller responds with the error. */
  get response(): Promise<OutgoingResponse> {
    return this.#response.promise;
  }

  get isStream(): boolean {
    return this.#reply.isStream;
  }

  beginStream(): void {
    this.#reply.begin();
  }

  /** Sends a message that precedes the response. An empty text is an event that has only an id. */
  async send(
    text: MessageText,
    eventId: string | null,
    retry: number | null,
  ): Promise<MessageRefusal | null> {
    const message = { isLast: false, hasInspectedParts: false };
    const inspected = text === "" ? text : await refusable(this.inspect(text, message));
    if (!(inspected instanceof MessageRefusal)) {
      await this.#reply.send(inspected, eventId, retry);
      return null;
    }
    // A client that resumes the stream continues after the refused message.
    if (eventId !== null) await this.#reply.send("", eventId, retry);
    return inspected;
  }

  get inspectsParts(): boolean {
    return this.#plugins.inspectsParts;
  }

  async inspectPart(part: MessageText): Promise<MessageText | MessageRefusal> {
    const { bodies, gateway } = this.#exchange;
    // The merged result has what plugins have restored.
    if (gateway?.chain?.hidesBodies === true) bodies?.takeResponse(part);
    return refusable(this.#plugins.inspectPart(part));
  }

  /** Sends the response, which plugins have inspected. */
  async result(text: MessageText, status: number): Promise<void> {
    // An event stream always has the status 200.
    if (this.#request.prefersStream && status === 200) this.#reply.begin();
    if (this.#reply.isStream) {
      await this.#reply.send(text, null, null);
      this.endStream("complete");
      return;
    }
    await this.respondWithJson(text, status);
  }

  /** The client has canceled the request, or resumes its stream later. */
  endWithoutResponse(): void {
    this.#reply.begin();
    this.endStream(this.#request.signal.aborted ? "client_left" : "complete");
  }

  endStream(outcome: Outcome): void {
    this.#reply.end();
    if (this.#isEndless) this.metrics.openStreams.value--;
    this.#finish(this.#isRefused ? "refused" : outcome, 200);
  }

  /**
   * Ends a stream while the process drains, unless it ends by itself, and one whose client may not continue.
   */
  #check(): void {
    if (this.#isRefused) return;
    const refusal = this.#parts.refusal();
    if (refusal !== null) this.#refuse(refusal);
    else if (this.#isEndless && this.#parts.isDraining()) {
      this.#reply.end();
      this.#request.abort();
    }
  }

  /** The call is canceled at the server. A client that waits for the response to a request gets an error. */
  #refuse({ code, reason }: Refusal): void {
    this.#isRefused = true;
    this.#exchange.errorCode = code;
    this.#request.ended("refused");
    if (this.#request.content !== null) {
      const body = rpcErrorBody(
        { error: reason, code, request_id: this.#exchange.requestId },
        this.#exchange,
      );
      void Promise.resolve(this.#reply.send(JSON.stringify(body), null, null)).catch(() => undefined);
    }
    this.#reply.end();
    this.#request.abort();
  }

  async respondWithJson(body: MessageText, status: number): Promise<void> {
    this.headers.set("Content-Type", "application/json");
    await this.respond(body, status);
  }

  async respond(body: MessageText | null, status: number): Promise<void> {
    this.#reply.close();
    const sent = await this.#runPostRequest(status);
    this.#finish(sent < 400 ? "complete" : "refused", sent);
    this.#response.resolve(new OutgoingResponse(body, { status: sent, headers: this.headers }));
  }

  async fail(error: unknown): Promise<void> {
    if (!this.#reply.isStream) {
      this.#reply.close();
      this.#response.reject(error);
      return;
    }
    const refusal = knownRefusal(error);
    const { requestId } = this.#exchange;
    if (this.#request.signal.aborted) this.endStream("client_left");
    else if (refusal === null) {
      this.#parts.log.error(
        { request_id: requestId, err: error },
        "MCP stream failed with an internal error",
      );
      this.endStream("incomplete");
    } else {
      const { status, code, message } = refusal;
      this.#exchange.errorCode = code;
      const text = JSON.stringify(
        rpcErrorBody({ error: message, code, request_id: requestId }, this.#exchange),
      );
      // A client that has disconnected meanwhile gets nothing.
      await Promise.resolve(this.#reply.send(text, null, null)).catch(() => undefined);
      this.endStream(status < 500 ? "refused" : "failed");
    }
  }

  /** Resolves to the message as the client gets it. Rejects if a plugin refuses it. */
  async inspect(text: MessageText, inspection: MessageInspection): Promise<MessageText> {
    const { bodies, gateway } = this.#exchange;
    const hidesBodies = gateway?.chain?.hidesBodies === true;
    // Before plugins restore what must not be logged.
    if (hidesBodies && !inspection.hasInspectedParts) bodies?.takeResponse(text);
    const inspected = await this.#plugins.inspect(text, inspection);
    if (!hidesBodies) bodies?.takeResponse(inspected);
    return inspected;
  }

  async #openStream(): Promise<void> {
    this.headers.set("Content-Type", "text/event-stream");
    this.headers.set("X-Accel-Buffering", "no");
    if (this.#isEndless) this.metrics.openStreams.value++;
    try {
      const status = await this.#runPostRequest(200);
      this.#response.resolve(new OutgoingResponse(this.#reply, { status, headers: this.headers }));
    } catch (error) {
      // The client gets an error response instead of the stream.
      this.#reply.cancel();
      this.#response.reject(error);
    }
  }

  /** Resolves to the status of the response. */
  async #runPostRequest(status: number): Promise<number> {
    const exchange = this.#exchange;
    const chain = exchange.gateway?.chain ?? null;
    if (chain === null || (chain.post_request === null && chain.shadows === null)) return status;
    return runPostRequest(exchange, chain, this.#parts, originOf(exchange), status, this.headers);
  }

  #finish(outcome: Outcome, status: number): void {
    const { gateway, clock } = this.#exchange;
    this.metrics.serverSessions.value = this.#parts.keptSessions(gateway?.id ?? "");
    finish(this.#exchange, outcome, status, clock.now(), this.#parts);
  }
}

/** Resolves to the refusal if the inspection of a message ends with one. */
async function refusable(inspection: Promise<MessageText>): Promise<MessageText | MessageRefusal> {
  try {
    return await inspection;
  } catch (error) {
    const refusal = knownRefusal(error);
    if (refusal === null) throw error;
    return new MessageRefusal(refusal.code, toError(error));
  }
}
