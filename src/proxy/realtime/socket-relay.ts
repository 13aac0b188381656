// Relays messages between the WebSocket of a client and that of a provider, in both directions with backpressure, until either
// side closes, the idle timeout expires, or the process stops.
import { NOT_A_MEMBER } from "../../base/dense-set.ts";
import type { ClockTimer } from "../../base/clock.ts";
import { RealtimeEstimate } from "../../formats/openai/realtime-estimate.ts";
import { readRealtimeEvent } from "../../formats/openai/realtime-events.ts";
import { RealtimeTranscription, type Transcription } from "../../formats/openai/realtime-transcription.ts";
import type { Deadline } from "../../http/coarse-deadlines.ts";
import type { UpstreamError } from "../../upstream/upstream-error.ts";
import { CLOSE, isSendable } from "../../http/websocket/close-codes.ts";
import type { ServerSocket, ServerSocketEvents } from "../../http/websocket/server-socket.ts";
import type { SocketWriter } from "../../http/websocket/socket-writer.ts";
import { UpstreamSocket, type UpstreamSocketEvents } from "../../upstream/websocket/upstream-socket.ts";
import { PERMISSION_CHECK_MS, type Refusal } from "../client-permission.ts";
import type { Exchange } from "../exchange.ts";
import { NO_TOKENS, type Usage } from "../../usage/usage-accumulator.ts";
import { finish, type FinishParts } from "../finish.ts";
import type { TargetResponse } from "../target-response.ts";
import type { OpenSockets } from "./open-sockets.ts";
import { learnComplete, withHiddenOutput } from "../hidden-output.ts";
import { priceFor } from "../price-for.ts";
import { recordSocketUsage } from "./record-socket-usage.ts";
import { CLIENT_LEFT, COMPLETE, LOST, TIMED_OUT, type Ending } from "./socket-endings.ts";
import { SocketPermission } from "./socket-permission.ts";
import { SocketReservations, type SocketClaimParts } from "./socket-reservations.ts";

/** Larger messages of a provider close the socket with 1009. */
const MAX_PROVIDER_MESSAGE_BYTES = 32 * 1024 * 1024;
/** With more bytes than these to send, the other side is not read. */
const MAX_QUEUED_BYTES = 256 * 1024;
/** How long a client may take to receive the close frame. */
const CLOSE_TIMEOUT_MS = 5000;
const SWITCHING_PROTOCOLS = 101;

export interface SocketParts extends FinishParts, SocketClaimParts {
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
  readonly #estimate = new RealtimeEstimate();
  readonly #transcription = new RealtimeTranscription();
  /** Null until the socket is open. */
  #reservations: SocketReservations | null = null;
  #client: ServerSocket | null = null;
  /** Responses that the model is generating. */
  #running = 0;
  /** When the first of the running responses has started. */
  #startedAt = 0;
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
    this.#upstream = new UpstreamSocket(upstreamResponse, writer, MAX_PROVIDER_MESSAGE_BYTES, this, clock);
  }

  /** Called if the client disconnected before its handshake was complete. */
  abandon(): void {
    this.#upstream.terminate();
  }

  // ServerSocketEvents

  onOpen(client: ServerSocket): void {
    this.#client = client;
    this.#exchange.isUsageRecorded = true;
    this.#reservations = new SocketReservations(this.#exchange, this.#parts, (why) => {
      this.#end({ outcome: "refused", health: "neutral", errorCode: why.code }, why.closeCode, why.reason);
    });
    this.#touch();
    this.dueAt = Math.min(this.#exchange.clock.now() + PERMISSION_CHECK_MS, this.#idleUntil);
    this.#parts.deadlines.watch(this);
    this.#upstream.start();
    this.#parts.sockets.add(this);
  }

  onClientMessage(message: string | Uint8Array): void {
    if (this.#ending !== null) return;
    this.#touch();
    const refusal = this.#permission.refusalOf(message);
    if (refusal !== null) {
      this.#refuse(refusal);
      return;
    }
    this.#upstream.send(message);
    this.#estimate.addClientMessage(message);
    this.#transcription.addClientMessage(message);
    if (this.#upstream.queuedBytes > MAX_QUEUED_BYTES) this.#client?.pause();
  }

  onClientPing(): void {
    this.#touch();
  }

  onClientDrained(): void {
    this.#touch();
    if ((this.#client?.bufferedBytes ?? 0) <= MAX_QUEUED_BYTES) this.#upstream.resume();
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

  onMessage(message: string | Uint8Array): void {
    const client = this.#client;
    if (client === null || this.#ending !== null) return;
    this.#touch();
    client.send(message);
    if (client.bufferedBytes > MAX_QUEUED_BYTES) this.#upstream.pause();
    if (typeof message === "string") this.#readEvent(message);
  }

  onDrained(): void {
    this.#touch();
    if (this.#client?.isPaused === true) this.#client.resume();
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
    if (this.#running === 0) this.closeForShutdown();
  }

  closeForShutdown(): void {
    this.#end(COMPLETE, CLOSE.goingAway, "The gateway is shutting down.");
  }

  #readEvent(message: string): void {
    const transcription = this.#transcription.read(message);
    if (transcription !== null) this.#settleTranscription(transcription);
    const event = readRealtimeEvent(message);
    if (event === null) {
      if (this.#running > 0) this.#estimate.addServerMessage(message);
      return;
    }
    if (event.type === "started") {
      if (this.#running++ === 0) this.#startedAt = this.#exchange.clock.now();
      return;
    }
    this.#running = Math.max(0, this.#running - 1);
    if (event.tokens !== null) this.#estimate.responseReported(event.tokens);
    // The provider charges nothing for a response that it could not generate.
    if (event.tokens === null && !event.isFailed) this.#settleEstimated();
    else this.#settle(event.tokens === null ? null : { ...event.tokens, isPartial: false });
    if (this.#isDraining && this.#running === 0) this.closeForShutdown();
  }

  /** Records and charges a response that has ended; null if it used nothing that is known. */
  #settle(usage: Usage | null): void {
    const { model } = this.#response;
    this.#parts.reservations.recordOutput(this.#exchange, usage);
    const milliseconds = this.#exchange.clock.now() - this.#startedAt;
    learnComplete(this.#exchange, model, usage, milliseconds, this.#parts);
    this.#charge(model, usage);
  }

  /** Another model runs beside that of the socket. Without a price of its own, it costs as much. */
  #settleTranscription({ model, tokens, isEstimated }: Transcription): void {
    const isPriced = model !== null && priceFor(this.#exchange, model) !== null;
    this.#charge(isPriced ? model : this.#response.model, { ...tokens, isPartial: isEstimated });
  }

  /** Charges the limits and budgets of the socket with what one of its models has used. */
  #charge(model: string | null, usage: Usage | null): void {
    const nanos = recordSocketUsage(this.#exchange, this.#response, model, usage, this.#parts.usageTotals);
    const isFree = this.#exchange.gameDay?.isSocketFree === true;
    const { inputTokens, outputTokens } = isFree || usage === null ? NO_TOKENS : usage;
    this.#reservations?.responseEnded({
      model: this.#response.model,
      nanos: nanos ?? 0,
      inputTokens,
      outputTokens,
      isPartial: false,
    });
  }

  /** A response without usage: it was canceled or cut off. */
  #settleEstimated(): void {
    const estimate = this.#estimate.takeEstimate();
    const { model } = this.#response;
    const endedAt = this.#exchange.clock.now();
    const call = { model, sentAt: this.#startedAt, endedAt, answeredAt: null };
    const usage = { ...estimate, isPartial: true, relayedTokens: estimate.outputTokens };
    this.#settle(withHiddenOutput(this.#exchange, call, usage, this.#parts));
  }

  #refuse({ code, reason }: Refusal): void {
    this.#end({ outcome: "refused", health: "neutral", errorCode: code }, CLOSE.policyViolation, reason);
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
    for (; this.#running > 0; this.#running--) this.#settleEstimated();
    const cut = this.#transcription.takeCut();
    if (cut !== null) this.#settleTranscription(cut);
    this.#reservations?.close();
    const now = this.#exchange.clock.now();
    this.#exchange.errorCode = errorCode;
    this.#response.report.end(health, now);
    finish(this.#exchange, outcome, SWITCHING_PROTOCOLS, now, this.#parts);
  }
}
