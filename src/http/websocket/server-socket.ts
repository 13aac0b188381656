// The WebSocket of a client, after its handshake (RFC 6455).
import { NOT_A_MEMBER } from "../../base/dense-set.ts";
import { TurnMeter, waitForTurn } from "../../base/own-turn.ts";
import type { BodyBudget } from "../body-budget.ts";
import type { CoarseDeadlines, Deadline } from "../coarse-deadlines.ts";
import type { ProtocolHandler, SwitchedConnection } from "../server/switched-connection.ts";
import { CLOSE, isSendable } from "./close-codes.ts";
import { FrameError, FrameParser, type FrameEvents } from "./frame-parser.ts";
import { FrameQueue } from "./frame-queue.ts";
import { encodeClose, encodeFrame, encodeMessage, OPCODE } from "./frames.ts";
import type { MessageLimits, ReceivedMessage, SentMessage } from "./messages.ts";

export interface ServerSocketEvents {
  onOpen(socket: ServerSocket): void;
  onClientMessage(message: ReceivedMessage): void;
  onClientPing(): void;
  /** Bytes that the client had not read have been sent. */
  onClientDrained(): void;
  /** Called exactly once. `code` is 1005 if the client sent none, and 1006 if it sent no close frame. */
  onClientClosed(code: number, reason: string): void;
  /** One of the functions above threw an error. The socket is terminated. */
  onHandlerError(error: unknown): void;
}

/** A client that has been silent for this time is pinged, and disconnected if it stays silent. */
const PING_MS = 60_000;
/** How long a client may take to receive the last frames of a closed socket. */
const CLOSE_TIMEOUT_MS = 5000;

export class ServerSocket implements ProtocolHandler, FrameEvents, Deadline {
  dueAt = Infinity;
  setPosition = NOT_A_MEMBER;
  isPaused = false;
  readonly #events: ServerSocketEvents;
  readonly #deadlines: CoarseDeadlines;
  readonly #parser: FrameParser;
  #connection: SwitchedConnection | null = null;
  #queue: FrameQueue | null = null;
  readonly #meter = new TurnMeter();
  /** Received bytes that are not parsed yet. */
  #unread: Uint8Array[] = [];
  /** How many of the first ones are parsed. */
  #readBytes = 0;
  /** Whether frames are being read, or are read on in another turn. */
  #isReading = false;
  /** Whether the connection delivers nothing, because bytes are left to parse, or the socket is paused. */
  #isHeld = false;
  #isPinged = false;
  #isCloseSent = false;
  #isClosed = false;

  constructor(
    events: ServerSocketEvents,
    limits: MessageLimits,
    deadlines: CoarseDeadlines,
    budget: BodyBudget,
  ) {
    this.#events = events;
    this.#deadlines = deadlines;
    this.#parser = new FrameParser(this, limits, "client", { budget, clock: deadlines.clock });
  }

  /** Bytes that the client has not taken yet. */
  get bufferedBytes(): number {
    return this.#queue?.bytes ?? 0;
  }

  send(message: SentMessage): void {
    if (!this.#isCloseSent) this.#queue?.add(encodeMessage(message, "server"));
  }

  /** Starts the closing handshake. */
  close(code: number, reason: string): void {
    if (this.#isCloseSent) return;
    this.#isCloseSent = true;
    this.#queue?.addLast(encodeClose(isSendable(code) ? code : null, reason, "server"));
  }

  /** Stops the delivery of messages. */
  pause(): void {
    this.isPaused = true;
    this.#hold();
  }

  resume(): void {
    this.isPaused = false;
    if (!this.#isReading) this.#read();
  }

  terminate(): void {
    this.#deadlines.unwatch(this);
    this.#connection?.terminate();
    this.#closed(CLOSE.abnormal, "");
  }

  // ProtocolHandler, for the connection

  onOpen(connection: SwitchedConnection): void {
    this.#connection = connection;
    this.#queue = new FrameQueue(connection, "server", () => this.#run(() => this.#onDrained()));
    this.#heard();
    this.#deadlines.watch(this);
    this.#run(() => this.#events.onOpen(this));
  }

  onData(bytes: Buffer): void {
    if (this.#isClosed) return;
    this.#heard();
    this.#unread.push(bytes);
    if (!this.#isReading) this.#read();
  }

  onClosed(): void {
    this.#closed(CLOSE.abnormal, "");
    this.#deadlines.unwatch(this);
  }

  // FrameEvents, for the parser

  onMessage(message: ReceivedMessage): void {
    if (!this.#isCloseSent) this.#events.onClientMessage(message);
  }

  onRefused({ code, reason }: FrameError): void {
    this.close(code, reason);
    this.#closed(CLOSE.abnormal, "");
    this.#endIfSent();
  }

  onPing(payload: Uint8Array): void {
    // Pings must not keep a socket open that holds memory for a message that it does not finish.
    if (!this.#parser.isInMessage) this.#events.onClientPing();
    if (!this.#isCloseSent) this.#queue?.replyToPing(payload);
  }

  onClose(code: number, reason: string): void {
    // Section 5.5.1: the code of the received frame is echoed. Section 7.1.1: the server closes the connection.
    this.close(code, reason);
    this.#closed(code, reason);
    this.#endIfSent();
  }

  // Deadline: the client is silent, or does not take the last frames

  expire(): void {
    // While the client is not read, it seems silent.
    if (this.isPaused && !this.#isClosed) {
      this.#heard();
      return;
    }
    if (this.#isPinged || this.#isClosed) {
      this.terminate();
      return;
    }
    this.#isPinged = true;
    this.dueAt = this.#deadlines.clock.now() + PING_MS;
    this.#queue?.add(encodeFrame(OPCODE.ping, "", "server"));
  }

  /** Reads until nothing is left or the socket is paused, if need be in several turns. */
  #read(): void {
    this.#isReading = true;
    const turn = this.#run(() => this.#readFrames());
    if (turn !== null) {
      this.#hold();
      void turn.then(() => this.#read());
      return;
    }
    this.#isReading = false;
    if (this.isPaused || !this.#isHeld) return;
    this.#isHeld = false;
    this.#connection?.resume();
  }

  /** Returns the turn in which to continue, or null. */
  #readFrames(): Promise<void> | null {
    try {
      for (let first = this.#unread[0]; first !== undefined; first = this.#unread[0]) {
        while (this.#readBytes < first.length) {
          if (this.isPaused) return null;
          const pause = waitForTurn(this.#parser.sizeCompletedBy(first.length - this.#readBytes));
          if (pause !== null) return pause;
          const end = this.#parser.read(first, this.#readBytes);
          const turn = this.#meter.add(end - this.#readBytes);
          this.#readBytes = end;
          if (turn !== null) return turn;
        }
        this.#unread.shift();
        this.#readBytes = 0;
      }
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.onRefused(error);
    }
    return null;
  }

  #hold(): void {
    this.#isHeld = true;
    this.#connection?.pause();
  }

  #heard(): void {
    this.#isPinged = false;
    this.dueAt = this.#deadlines.clock.now() + PING_MS;
  }

  #onDrained(): void {
    if (this.#isClosed) this.#endIfSent();
    else this.#events.onClientDrained();
  }

  #endIfSent(): void {
    this.#queue?.flush();
    if (this.bufferedBytes > 0) return;
    this.#deadlines.unwatch(this);
    this.#connection?.end();
  }

  #closed(code: number, reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#unread = [];
    this.#readBytes = 0;
    this.#parser.close();
    this.dueAt = this.#deadlines.clock.now() + CLOSE_TIMEOUT_MS;
    this.#run(() => this.#events.onClientClosed(code, reason));
  }

  /** An error of a handler must not end the process, and with it the requests of all other clients. */
  #run<T>(handle: () => T): T | null {
    try {
      return handle();
    } catch (error) {
      this.#events.onHandlerError(error);
      this.terminate();
      return null;
    }
  }
}
