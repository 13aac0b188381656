// The WebSocket to a provider, over a connection whose handshake is complete: messages out with backpressure, messages in at
// the reader's pace, and the closing handshake.
import type { Clock, ClockTimer } from "../../base/clock.ts";
import { TurnMeter, waitForTurn } from "../../base/own-turn.ts";
import { UpstreamError } from "../upstream-error.ts";
import type { UpstreamResponse } from "../upstream-response.ts";
import { CLOSE, isSendable } from "../../http/websocket/close-codes.ts";
import { FrameError, FrameParser, type FrameEvents } from "../../http/websocket/frame-parser.ts";
import { encodeClose, encodeMessage } from "../../http/websocket/frames.ts";
import { FrameQueue } from "../../http/websocket/frame-queue.ts";
import type { MessageLimits, ReceivedMessage, SentMessage } from "../../http/websocket/messages.ts";
import type { MessageMemory } from "../../http/websocket/unfinished-message.ts";
import type { SocketWriter } from "../../http/websocket/socket-writer.ts";

export interface UpstreamSocketEvents {
  onMessage(message: ReceivedMessage): void;
  /** All messages have been handed to the kernel. */
  onDrained(): void;
  /**
   * Called exactly once. `code` is CLOSE.noStatus if the provider sent none, and CLOSE.abnormal if it sent no close frame;
   * then `error` says why.
   */
  onClosed(code: number, reason: string, error: UpstreamError | null): void;
}

/** How long a provider may take to close the connection after the closing handshake began. */
const CLOSE_TIMEOUT_MS = 5000;

export class UpstreamSocket implements FrameEvents {
  readonly #response: UpstreamResponse;
  readonly #events: UpstreamSocketEvents;
  readonly #clock: Clock;
  readonly #parser: FrameParser;
  readonly #queue: FrameQueue;
  readonly #meter = new TurnMeter();
  #isCloseSent = false;
  #isClosed = false;
  #closeTimer: ClockTimer | null = null;
  #pause: PromiseWithResolvers<undefined> | null = null;

  constructor(
    response: UpstreamResponse,
    writer: SocketWriter,
    limits: MessageLimits,
    events: UpstreamSocketEvents,
    memory: MessageMemory,
  ) {
    this.#response = response;
    this.#events = events;
    this.#clock = memory.clock;
    this.#parser = new FrameParser(this, limits, "server", memory);
    this.#queue = new FrameQueue(writer, "client", () => events.onDrained());
  }

  /** Starts to deliver messages. */
  start(): void {
    void this.#read();
  }

  /** Bytes that the provider has not taken yet. */
  get queuedBytes(): number {
    return this.#queue.bytes;
  }

  send(message: SentMessage): void {
    if (!this.#isCloseSent) this.#queue.add(encodeMessage(message, "client"));
  }

  /** Starts the closing handshake. A code that must not be sent becomes a close frame without a code. */
  close(code: number, reason: string): void {
    if (this.#isCloseSent) return;
    this.#isCloseSent = true;
    this.#queue.addLast(encodeClose(isSendable(code) ? code : null, reason, "client"));
    this.#closeTimer = this.#clock.setTimeout(() => this.#response.cancel(), CLOSE_TIMEOUT_MS);
    // A paused reader would not see the close frame of the provider.
    this.resume();
  }

  /** Ends the connection without a closing handshake. */
  terminate(): void {
    this.#isCloseSent = true;
    this.#response.cancel();
    this.resume();
  }

  /** Stops the delivery of messages. */
  pause(): void {
    if (!this.#isCloseSent) this.#pause ??= Promise.withResolvers<undefined>();
  }

  resume(): void {
    this.#pause?.resolve(undefined);
    this.#pause = null;
  }

  // FrameEvents, for the parser

  onMessage(message: ReceivedMessage): void {
    if (!this.#isCloseSent) this.#events.onMessage(message);
  }

  onPing(payload: Uint8Array): void {
    if (!this.#isCloseSent) this.#queue.replyToPing(payload);
  }

  onClose(code: number, reason: string): void {
    // RFC 6455, section 5.5.1: the code of the received frame is echoed.
    this.close(code, reason);
    this.#closed(code, reason, null);
  }

  onRefused({ code, reason }: FrameError): void {
    this.close(code, reason);
    // The memory of the gateway is full, which is no failure of the provider.
    this.#closed(code, reason, null);
  }

  async #read(): Promise<void> {
    try {
      for (;;) {
        const bytes = await this.#response.next();
        if (bytes === null) break;
        await this.#readFrames(bytes);
      }
      this.#closed(CLOSE.abnormal, "", new UpstreamError("cut"));
    } catch (error) {
      if (error instanceof FrameError) {
        if (error.code === CLOSE.tryAgainLater) this.onRefused(error);
        this.close(error.code, error.reason);
        this.#closed(CLOSE.abnormal, "", new UpstreamError("invalid", error));
        await this.#discard();
      } else
        this.#closed(
          CLOSE.abnormal,
          "",
          error instanceof UpstreamError ? error : new UpstreamError("cut", error),
        );
    }
    this.#closeTimer?.close();
    this.#response.cancel();
  }

  /** The reader of messages may pause after each of them. */
  async #readFrames(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const pause = waitForTurn(this.#parser.sizeCompletedBy(bytes.length - at));
      if (pause !== null) await pause;
      const end = this.#parser.read(bytes, at);
      const turn = this.#meter.add(end - at);
      if (turn !== null) await turn;
      if (this.#pause !== null) await this.#pause.promise;
      at = end;
    }
  }

  /** Reads until the provider has closed the connection: an unread byte would make the kernel reset it. */
  async #discard(): Promise<void> {
    try {
      while ((await this.#response.next()) !== null);
    } catch {
      // The connection is closed, which is what this waits for.
    }
  }

  #closed(code: number, reason: string, error: UpstreamError | null): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#parser.close();
    this.#events.onClosed(code, reason, error);
  }
}
