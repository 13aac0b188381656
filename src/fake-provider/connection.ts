// One TCP connection: parses requests one at a time, responds to each, and notices when the peer disconnects.
import type { Clock } from "../base/clock.ts";
import { ResponsePlayer, type RawSocket } from "./response-player.ts";
import { type FakeResponse, jsonResponse, type WebSocketSession } from "./response.ts";
import { BadFakeHeader, type Behavior, FAKE_HEADER, readFakeHeader } from "./behavior.ts";
import { type RequestHead, RequestParser } from "./http-parser.ts";
import { planResponse } from "./response-plan.ts";
import { openAiError } from "./apis/openai-errors.ts";
import type { ReceivedRequest } from "./recorded-request.ts";
import { chooseResponse, type ProviderContext } from "./route-response.ts";
import { WebSocketConnection } from "./websocket-connection.ts";

/** The part of the provider that a connection uses. */
export interface ConnectionOwner extends ProviderContext {
  readonly clock: Clock;
  requestStarted(head: RequestHead, connection: number): ReceivedRequest;
  bodyReceived(request: ReceivedRequest): void;
  behaviorFor(request: ReceivedRequest): Behavior;
  /** The behavior that is known before the request is read; empty if a function decides. */
  fixedBehavior(): Behavior;
}

const MAX_WAITING_BYTES = 1 << 20;
const CONTINUE = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");

export class Connection {
  readonly #parser = new RequestParser();
  #request: ReceivedRequest | null = null;
  #player: ResponsePlayer | null = null;
  #webSocket: WebSocketConnection | null = null;
  #closed = false;
  /** Set by an early response. Bytes that still arrive are read and dropped: unread bytes would cause a reset on close. */
  #ignoresInput = false;

  constructor(
    readonly serial: number,
    private readonly socket: RawSocket,
    private readonly owner: ConnectionOwner,
  ) {}

  received(bytes: Buffer): void {
    if (this.#ignoresInput) return;
    if (this.#webSocket !== null) {
      this.#webSocket.received(bytes);
      return;
    }
    this.#parser.feed(bytes);
    if (this.#player === null) this.#advance();
    else if (this.#parser.waiting > MAX_WAITING_BYTES) this.socket.terminate();
  }

  drained(): void {
    this.#player?.drained();
    this.#webSocket?.drained();
  }

  /** Ends the current response: the peer disconnected, or the provider was stopped. */
  closed(byPeer: boolean): void {
    this.#closed = true;
    this.#player?.abandon();
    if (this.#webSocket !== null) this.#webSocket.closed(byPeer);
    else if (byPeer) this.#request?.abort();
    this.#request = null;
  }

  #advance(): void {
    while (this.#player === null && !this.#closed && !this.#ignoresInput) {
      const event = this.#parser.next();
      if (event === null) return;
      switch (event.kind) {
        case "head":
          this.#begin(event.head);
          break;
        case "body":
          this.#respond(event.body);
          break;
        case "error":
          this.#reject(event.status, event.message);
          return;
      }
    }
  }

  #begin(head: RequestHead): void {
    this.#request = this.owner.requestStarted(head, this.serial);
    if (this.#respondsEarly(this.#request)) {
      this.#ignoresInput = true;
      this.#respond(this.#request.body);
    } else if (this.#request.header("expect")?.toLowerCase() === "100-continue") this.socket.write(CONTINUE);
  }

  #respondsEarly(request: ReceivedRequest): boolean {
    if (this.owner.fixedBehavior().answerEarly === true) return true;
    const requested = request.header(FAKE_HEADER);
    try {
      return requested !== undefined && readFakeHeader(requested).answerEarly === true;
    } catch {
      // #decide reports the invalid header once the whole request is read.
      return false;
    }
  }

  #respond(body: Uint8Array): void {
    const request = this.#request;
    if (request === null) return;
    request.body = body;
    this.owner.bodyReceived(request);
    const { response, behavior } = this.#decide(request);
    const isHttp10 = request.version === "HTTP/1.0";
    const closeDelimited = isHttp10 || behavior.closeDelimited === true;
    const closeAfter =
      this.#ignoresInput ||
      closeDelimited ||
      behavior.closeConnection === true ||
      request.header("connection")?.toLowerCase() === "close";
    const plan = planResponse(response, behavior, {
      headOnly: request.method === "HEAD",
      closeDelimited,
      closeAfter,
    });
    this.#player = new ResponsePlayer(this.socket, plan, request, this.owner.clock, (how) => {
      this.#request = null;
      if (how === "complete" && response.webSocket !== undefined)
        this.#upgrade(request, response.webSocket, behavior);
      else if (how === "complete") this.#complete(request, closeAfter);
    });
    this.#player.play();
  }

  #decide(request: ReceivedRequest): { response: FakeResponse; behavior: Behavior } {
    try {
      const requested = request.header(FAKE_HEADER);
      const scripted = this.owner.behaviorFor(request);
      const behavior = requested === undefined ? scripted : { ...scripted, ...readFakeHeader(requested) };
      return { response: chooseResponse(request, behavior, this.owner), behavior };
    } catch (error) {
      // A behavior function that throws must fail its test, not this process: report the error in the response.
      const status = error instanceof BadFakeHeader ? 400 : 500;
      return { response: openAiError(request, status, String(error)), behavior: {} };
    }
  }

  #upgrade(request: ReceivedRequest, session: WebSocketSession, behavior: Behavior): void {
    this.#player = null;
    this.#webSocket = new WebSocketConnection(this.socket, request, session, behavior, this.owner.clock);
    this.#webSocket.open();
    this.#webSocket.received(this.#parser.takeWaiting());
  }

  #complete(request: ReceivedRequest, closeAfter: boolean): void {
    request.finished = true;
    this.#player = null;
    // After an early response the peer closes the connection: it may still be sending its body.
    if (closeAfter && !this.#ignoresInput) this.socket.end();
    // The player may complete inside `#advance`, so parse pipelined bytes in a new microtask.
    if (!closeAfter && this.#parser.waiting > 0) queueMicrotask(() => this.#advance());
  }

  #reject(status: number, message: string): void {
    this.#request = null;
    const response = jsonResponse(status, openAiErrorMessage(message));
    const plan = planResponse(response, {}, { headOnly: false, closeDelimited: false, closeAfter: true });
    for (const step of plan) if (step instanceof Uint8Array) this.socket.write(step);
    this.socket.end();
  }
}

function openAiErrorMessage(message: string): unknown {
  return { error: { message, type: "invalid_request_error", param: null, code: "malformed_http" } };
}
