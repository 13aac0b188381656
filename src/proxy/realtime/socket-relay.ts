// Relays messages between the WebSocket of a client and that of a provider, in both directions with backpressure, until either
// side closes, the idle timeout expires, or the process stops.
import { NOT_A_MEMBER } from "../../base/dense-set.ts";
import type { ClockTimer } from "../../base/clock.ts";
import { GatehouseError } from "../../base/errors.ts";
import type { ServerMessage } from "../../formats/openai/realtime-server-messages.ts";
import type { Deadline } from "../../http/coarse-deadlines.ts";
import type { UpstreamError } from "../../upstream/upstream-error.ts";
import { CLOSE, isSendable } from "../../http/websocket/close-codes.ts";
import type { ReceivedMessage, SentMessage } from "../../http/websocket/messages.ts";
import type { ServerSocket, ServerSocketEvents } from "../../http/websocket/server-socket.ts";
import type { SocketWriter } from "../../http/websocket/socket-writer.ts";
import { UpstreamSocket, type UpstreamSocketEvents } from "../../upstream/websocket/upstream-socket.ts";
import { PERMISSION_CHECK_MS, type Refusal } from "../client-permission.ts";
import type { Exchange } from "../exchange.ts";
import { finish, type FinishParts } from "../finish.ts";
import type { TargetResponse } from "../target-response.ts";
import { ClientMessages } from "./client-messages.ts";
import { LargeMessages, type LargeMessageParts } from "./large-messages.ts";
import type { OpenSockets } from "./open-sockets.ts";
import { PROVIDER_LIMITS, ProviderMessages } from "./provider-messages.ts";
import { CLIENT_LEFT, closeReason, COMPLETE, LOST, TIMED_OUT, type Ending } from "./socket-endings.ts";
import { SocketPermission } from "./socket-permission.ts";
import type { Exhausted } from "./socket-reservations.ts";
import { SocketResponses, type SocketResponseParts } from "./socket-responses.ts";

/** With more bytes than these to send, the other side is not read. */
const MAX_QUEUED_BYTES = 256 * 1024;
/** How long a client may take to receive the close frame. */
const CLOSE_TIMEOUT_MS = 5000;
const SWITCHING_PROTOCOLS = 101;

export interface SocketParts extends FinishParts, SocketResponseParts, LargeMessageParts {
  readonly sockets: OpenSockets;
}

export class SocketRelay implements Deadline, ServerSocketEvents, UpstreamSocketEvents {
  dueAt = Infinity;
  setPosition = NOT_A_MEMBER;
  readonly #exchange: Exchange;
  readonly #response: TargetResponse;
  readonly #parts: SocketParts;
  readonly #upstream: UpstreamSocket;
  readonly #permission: SocketPermission;
  readonly #idleMs: number;
  /** A time of the clock. */
  #idleUntil = Infinity;
  readonly #largeMessages: LargeMessages;
  readonly #clientMessages: ClientMessages;
  readonly #providerMessages: ProviderMessages;
  /** Null until the socket is open. */
  #responses: SocketResponses | null = null;
  #client: ServerSocket | null = null;
  #isDraining = false;
  /** Set by the first event that ends the socket. */
  #ending: Ending | null = null;
  #isClientClosed = false;
  #isUpstreamClosed = false;
  #closeTimer: ClockTimer | null = null;

  constructor(
    exchange: Exchange,
    response: TargetResponse,
    writer: SocketWriter,
    idleMs: number,
    parts: SocketParts,
  ) {
    this.#exchange = exchange;
    this.#response = response;
    this.#parts = parts;
    this.#permission = new SocketPermission(exchange, parts);
    this.#idleMs = idleMs;
    const { upstreamResponse } = response;
    const { clock } = exchange;
    const memory = { budget: parts.bodyBudget, clock };
    this.#upstream = new UpstreamSocket(upstreamResponse, writer, PROVIDER_LIMITS, this, memory);
    this.#largeMessages = new LargeMessages(exchange.gateway?.id ?? "", parts);
    this.#clientMessages = new ClientMessages(this.#largeMessages, this.#permission, {
      onRefused: (refusal) => this.#refuse(refusal),
      handle: (message) =>
        this.#ending === null ? this.#responses?.handleClientMessage(message) : undefined,
      onHandled: () => this.#resumeClient(),
      onHandlerError: (error) => this.#fail(error),
    });
    this.#providerMessages = new ProviderMessages(this.#largeMessages, {
      relay: (sent, message) => this.#relay(sent, message),
      onRelayed: () => this.#resumeProvider(),
      onHandlerError: (error) => this.#fail(error),
    });
  }

  /** Called if the client disconnected before its handshake was complete. */
  abandon(): void {
    this.#upstream.terminate();
  }

  // ServerSocketEvents

  onOpen(client: ServerSocket): void {
    this.#client = client;
    this.#exchange.isUsageRecorded = true;
    this.#responses = new SocketResponses(this.#exchange, this.#response, this.#parts, {
      sendToProvider: (message) => this.#sendToProvider(message),
      sendToClient: (message) => this.#sendToClient(message),
      onExhausted: (why) => this.#onExhausted(why),
    });
    this.#touch();
    this.dueAt = Math.min(this.#exchange.clock.now() + PERMISSION_CHECK_MS, this.#idleUntil);
    this.#parts.deadlines.watch(this);
    this.#upstream.start();
    this.#parts.sockets.add(this);
  }

  onClientMessage(message: ReceivedMessage): void {
    if (this.#ending !== null) return;
    this.#touch();
    this.#clientMessages.add(message);
    if (!this.#mayReadClient) this.#client?.pause();
  }

  onClientPing(): void {
    this.#touch();
  }

  onClientDrained(): void {
    this.#touch();
    this.#resumeProvider();
    this.#resumeClient();
  }

  onClientClosed(code: number, reason: string): void {
    this.#isClientClosed = true;
    this.#closeTimer?.close();
    const isAbnormal = code === CLOSE.abnormal;
    this.#ending ??= isAbnormal ? CLIENT_LEFT : COMPLETE;
    if (isAbnormal) this.#upstream.close(CLOSE.goingAway, "");
    else this.#upstream.close(code, reason);
    this.#finishIfOver();
  }

  onHandlerError(error: unknown): void {
    const { requestId } = this.#exchange;
    this.#parts.log.error({ request_id: requestId, err: error }, "WebSocket failed with an internal error");
    this.#ending ??= { outcome: "failed", health: "neutral", errorCode: "internal_error" };
    this.#upstream.terminate();
  }

  // UpstreamSocketEvents

  onMessage(message: ReceivedMessage): void {
    if (this.#responses === null || this.#ending !== null) return;
    this.#touch();
    this.#providerMessages.add(message, this.#responses.eventIds);
    if (this.#providerMessages.isReading) this.#upstream.pause();
  }

  onDrained(): void {
    this.#touch();
    this.#resumeClient();
  }

  onClosed(code: number, reason: string, error: UpstreamError | null): void {
    this.#isUpstreamClosed = true;
    if (error === null) {
      this.#ending ??= COMPLETE;
      this.#closeClient(code === CLOSE.noStatus ? CLOSE.normal : code, reason);
    } else if (error.kind === "total_timeout") {
      this.#ending ??= TIMED_OUT;
      this.#closeClient(CLOSE.goingAway, "The WebSocket was open for timeouts.total of the upstream.");
    } else {
      this.#ending ??= LOST;
      const { facts } = this.#response.report;
      if (facts !== null) facts.fault ??= error.kind;
      this.#closeClient(CLOSE.internalError, "The connection to the provider was lost.");
    }
    this.#finishIfOver();
  }

  // Deadline: the client may not continue, or no message in either direction, and no ping of the client

  expire(): void {
    const now = this.#exchange.clock.now();
    this.dueAt = now + PERMISSION_CHECK_MS;
    const refusal = this.#ending === null ? this.#permission.refusal() : null;
    if (refusal !== null) this.#refuse(refusal);
    else if (this.#idleUntil <= now)
      this.#end(TIMED_OUT, CLOSE.goingAway, "No message within timeouts.idle of the upstream.");
    else this.dueAt = Math.min(this.dueAt, this.#idleUntil);
  }

  // For OpenSockets

  drain(): void {
    this.#isDraining = true;
    if (this.#responses === null || this.#responses.isIdle) this.#closeForShutdown();
  }

  cutForShutdown(): void {
    this.#closeForShutdown();
    // The process ends before the other sides have closed.
    this.#isClientClosed = this.#isUpstreamClosed = true;
    this.#finishIfOver();
  }

  #closeForShutdown(): void {
    this.#end(COMPLETE, CLOSE.goingAway, "The gateway is shutting down.");
  }

  /** Sends a message of the provider to the client, and then handles what it says. */
  #relay(sent: SentMessage, message: ServerMessage): void {
    const client = this.#client;
    const responses = this.#responses;
    if (client === null || responses === null || this.#ending !== null) return;
    client.send(sent);
    if (client.bufferedBytes > MAX_QUEUED_BYTES) this.#upstream.pause();
    responses.handleProviderMessage(message);
    if (this.#isDraining && responses.isIdle) this.#closeForShutdown();
  }

  /** A message that cannot be read, because there is no room or no thread for it, must not pass. */
  #fail(error: unknown): void {
    if (error instanceof GatehouseError && error.code === "overloaded")
      this.#onExhausted({ code: error.code, closeCode: CLOSE.tryAgainLater, reason: error.message });
    else if (this.#ending === null) {
      this.onHandlerError(error);
      this.#client?.terminate();
    }
  }

  /** Returns false if the socket is being closed. */
  #sendToProvider(message: SentMessage): boolean {
    if (this.#ending !== null) return false;
    this.#upstream.send(message);
    return true;
  }

  #sendToClient(message: string): void {
    if (this.#ending === null) this.#client?.send(message);
  }

  /** The client is not read while the provider or the ledger is slow, or while the client itself does not take its messages. */
  get #mayReadClient(): boolean {
    if (this.#ending !== null) return true;
    if (this.#clientMessages.isWaiting || this.#upstream.queuedBytes > MAX_QUEUED_BYTES) return false;
    return (this.#client?.bufferedBytes ?? 0) <= MAX_QUEUED_BYTES;
  }

  #resumeProvider(): void {
    const isReadByClient = (this.#client?.bufferedBytes ?? 0) <= MAX_QUEUED_BYTES;
    if (isReadByClient && !this.#providerMessages.isReading) this.#upstream.resume();
  }

  #resumeClient(): void {
    if (this.#client?.isPaused === true && this.#mayReadClient) this.#client.resume();
  }

  #onExhausted({ code, closeCode, reason }: Exhausted): void {
    const ending = { outcome: "refused", health: "neutral", errorCode: code } as const;
    this.#end(ending, closeCode, closeReason(code, reason));
  }

  #refuse({ code, reason }: Refusal): void {
    this.#onExhausted({ code, closeCode: CLOSE.policyViolation, reason });
  }

  #end(ending: Ending, code: number, reason: string): void {
    if (this.#ending !== null) return;
    this.#ending = ending;
    this.#upstream.close(code, "");
    this.#closeClient(code, reason);
  }

  #closeClient(code: number, reason: string): void {
    const client = this.#client;
    if (client === null || this.#isClientClosed || this.#closeTimer !== null) return;
    if (client.isPaused) client.resume();
    this.#closeTimer = this.#exchange.clock.setTimeout(() => client.terminate(), CLOSE_TIMEOUT_MS);
    client.close(isSendable(code) ? code : CLOSE.normal, reason);
  }

  #touch(): void {
    this.#idleUntil = this.#exchange.clock.now() + this.#idleMs;
  }

  #finishIfOver(): void {
    if (!this.#isClientClosed || !this.#isUpstreamClosed || this.#exchange.finished) return;
    const { outcome, health, errorCode } = this.#ending ?? COMPLETE;
    this.#parts.deadlines.unwatch(this);
    this.#parts.sockets.delete(this);
    this.#responses?.close();
    this.#largeMessages.close();
    const now = this.#exchange.clock.now();
    this.#exchange.errorCode = errorCode;
    this.#response.report.end(health, now);
    finish(this.#exchange, outcome, SWITCHING_PROTOCOLS, now, this.#parts);
  }
}
