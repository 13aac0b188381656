// A connection after its upgrade to WebSocket: passes the messages of the client to a session and sends what it returns, with the
// delays, stalls and cuts of the behavior. Plays plans with ResponsePlayer, as HTTP responses do.
import type { Clock } from "../base/clock.ts";
import type { Behavior } from "./behavior.ts";
import type { ReceivedRequest } from "./recorded-request.ts";
import { ResponsePlayer, type RawSocket } from "./response-player.ts";
import type { Step } from "./response-plan.ts";
import type { WebSocketSession } from "./response.ts";
import { encodeClose, encodeFrame, FrameReader, type WebSocketEvent } from "./websocket-frames.ts";

const MAX_WAITING_PLANS = 1000;
const MAX_RECORDED_MESSAGES = 1000;
/** RFC 6455 7.1.5: the code of a close frame without a code. */
const NO_CODE = 1005;

export class WebSocketConnection {
  readonly #reader = new FrameReader();
  readonly #waiting: Iterator<Step>[] = [];
  #player: ResponsePlayer | null = null;
  #sentMessages = 0;
  #finishedResponses = 0;
  /** A close frame was sent or is about to be sent. Further messages are ignored; the client's close frame is awaited. */
  #isClosing = false;
  /** The behavior cut the connection. */
  #isCut = false;

  constructor(
    private readonly socket: RawSocket,
    private readonly request: ReceivedRequest,
    private readonly session: WebSocketSession,
    private readonly behavior: Behavior,
    private readonly clock: Clock,
  ) {
    request.webSocket = { messages: [], closeCode: null };
  }

  open(): void {
    this.#send(this.#messageSteps(this.session.open()));
    this.#closeIfDue();
  }

  received(bytes: Buffer): void {
    this.#reader.feed(bytes);
    for (let event = this.#reader.next(); event !== null; event = this.#reader.next()) {
      this.#handle(event);
      if (event.kind === "close" || event.kind === "error") return;
    }
  }

  drained(): void {
    this.#player?.drained();
  }

  closed(byPeer: boolean): void {
    this.#player?.abandon();
    this.#waiting.length = 0;
    if (this.#isClosing) this.request.finished = true;
    else if (byPeer && !this.#isCut) this.request.abort();
  }

  #handle(event: WebSocketEvent): void {
    switch (event.kind) {
      case "text":
        if (!this.#isClosing) this.#receiveText(event.text);
        break;
      case "binary":
        this.#close(1003, "binary messages are not supported");
        break;
      case "ping":
        if (!this.#isClosing) this.#send([encodeFrame("pong", event.payload)].values());
        break;
      case "pong":
        break;
      case "close":
        if (this.request.webSocket !== null) this.request.webSocket.closeCode = event.code ?? NO_CODE;
        this.#close(event.code, event.reason);
        this.#end();
        break;
      case "error":
        this.#close(event.code, event.reason);
        this.#end();
        break;
    }
  }

  #receiveText(text: string): void {
    const recorded = this.request.webSocket?.messages;
    if (recorded !== undefined && recorded.length < MAX_RECORDED_MESSAGES) recorded.push(text);
    this.#send(this.#messageSteps(this.session.receive(text)));
  }

  *#messageSteps(messages: Iterable<string>): Generator<Step> {
    const { cutAfterChunks, stallAfterChunks, errorAfterChunks, chunkDelayMs, reset } = this.behavior;
    for (const message of messages) {
      if (this.#sentMessages === cutAfterChunks) yield { kind: "close", reset: reset === true };
      if (this.#sentMessages === stallAfterChunks) yield { kind: "stall" };
      if (this.#sentMessages > 0 && chunkDelayMs !== undefined) yield { kind: "wait", ms: chunkDelayMs };
      // No message may follow a close frame (RFC 6455 5.5.1).
      if (this.#isClosing) return;
      const isError = this.#sentMessages++ === errorAfterChunks;
      yield encodeFrame("text", Buffer.from(isError ? this.session.error() : message));
      if (isError) return;
    }
    if (this.session.finishedResponses === this.#finishedResponses) return;
    this.#finishedResponses = this.session.finishedResponses;
    this.#closeIfDue();
  }

  #closeIfDue(): void {
    const { closeWebSocket } = this.behavior;
    if (closeWebSocket === undefined || this.#finishedResponses < (closeWebSocket.afterResponses ?? 0))
      return;
    this.#close(closeWebSocket.code, closeWebSocket.reason);
  }

  #close(code: number | null, reason = ""): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#send([encodeClose(code, reason)].values());
  }

  #end(): void {
    const steps: Step[] = [{ kind: "close", reset: false }];
    this.#send(steps.values());
  }

  #send(plan: Iterator<Step>): void {
    this.#waiting.push(plan);
    if (this.#waiting.length > MAX_WAITING_PLANS) this.socket.terminate();
    else if (this.#player === null) this.#playNext();
  }

  #playNext(): void {
    const plan = this.#waiting.shift();
    if (plan === undefined) return;
    this.#player = new ResponsePlayer(this.socket, plan, this.request, this.clock, (how) => {
      this.#player = null;
      if (how === "complete") this.#playNext();
      else this.#isCut = true;
    });
    this.#player.play();
  }
}
