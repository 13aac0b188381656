// One TCP connection: takes requests out of its bytes one at a time, has each answered, notices when the peer leaves.
import { ResponsePlayer, type RawSocket } from "./response-player.ts";
import { jsonResponse } from "./response.ts";
import { BadFakeHeader, type Behavior, FAKE_HEADER, readFakeHeader } from "./behavior.ts";
import { type RequestHead, RequestParser } from "./http-parser.ts";
import { planResponse } from "./response-plan.ts";
import { openAiError } from "./openai-responses.ts";
import type { ReceivedRequest } from "./recorded-request.ts";
import { chooseResponse } from "./route-response.ts";

/** What a connection needs of the provider it belongs to. */
export interface ConnectionOwner {
  readonly name: string;
  requestStarted(head: RequestHead, connection: number): ReceivedRequest;
  bodyReceived(request: ReceivedRequest): void;
  behaviorFor(request: ReceivedRequest): Behavior;
  /** What is known before the request is read; empty when a function decides. */
  fixedBehavior(): Behavior;
}

const MAX_WAITING_BYTES = 1 << 20;
const CONTINUE = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");

export class Connection {
  readonly #parser = new RequestParser();
  #request: ReceivedRequest | null = null;
  #player: ResponsePlayer | null = null;
  #closed = false;
  /** Set by an early answer: what still arrives is read, so that no reset overtakes the answer, and dropped. */
  #deaf = false;

  constructor(
    readonly serial: number,
    private readonly socket: RawSocket,
    private readonly owner: ConnectionOwner,
  ) {}

  received(bytes: Buffer): void {
    if (this.#deaf) return;
    this.#parser.feed(bytes);
    if (this.#player === null) this.#advance();
    else if (this.#parser.waiting > MAX_WAITING_BYTES) this.socket.terminate();
  }

  drained(): void {
    this.#player?.drained();
  }

  /** The peer has gone, or the provider was stopped: whatever was under way is over. */
  closed(byPeer: boolean): void {
    this.#closed = true;
    this.#player?.abandon();
    if (byPeer) this.#request?.abort();
    this.#request = null;
  }

  #advance(): void {
    while (this.#player === null && !this.#closed && !this.#deaf) {
      const event = this.#parser.next();
      if (event === null) return;
      switch (event.kind) {
        case "head":
          this.#begin(event.head);
          break;
        case "body":
          this.#answer(event.body);
          break;
        case "error":
          this.#refuse(event.status, event.message);
          return;
      }
    }
  }

  #begin(head: RequestHead): void {
    this.#request = this.owner.requestStarted(head, this.serial);
    if (this.#answersEarly(this.#request)) {
      this.#deaf = true;
      this.#answer(this.#request.body);
    } else if (this.#request.header("expect")?.toLowerCase() === "100-continue") this.socket.write(CONTINUE);
  }

  #answersEarly(request: ReceivedRequest): boolean {
    if (this.owner.fixedBehavior().answerEarly === true) return true;
    const asked = request.header(FAKE_HEADER);
    try {
      return asked !== undefined && readFakeHeader(asked).answerEarly === true;
    } catch {
      // Explained to the client once the whole request is read.
      return false;
    }
  }

  #answer(body: Uint8Array): void {
    const request = this.#request;
    if (request === null) return;
    request.body = body;
    this.owner.bodyReceived(request);
    const { answer, behavior } = this.#decide(request);
    const oldVersion = request.version === "HTTP/1.0";
    const closeDelimited = oldVersion || behavior.closeDelimited === true;
    const closeAfter =
      this.#deaf ||
      closeDelimited ||
      behavior.closeConnection === true ||
      request.header("connection")?.toLowerCase() === "close";
    const plan = planResponse(answer, behavior, {
      headOnly: request.method === "HEAD",
      closeDelimited,
      closeAfter,
    });
    this.#player = new ResponsePlayer(this.socket, plan, request, (how) => {
      this.#request = null;
      if (how === "complete") this.#complete(request, closeAfter);
    });
    this.#player.play();
  }

  #decide(request: ReceivedRequest): { answer: ReturnType<typeof chooseResponse>; behavior: Behavior } {
    try {
      const asked = request.header(FAKE_HEADER);
      const scripted = this.owner.behaviorFor(request);
      const behavior = asked === undefined ? scripted : { ...scripted, ...readFakeHeader(asked) };
      return { answer: chooseResponse(request, behavior, this.owner.name), behavior };
    } catch (error) {
      // A script that throws must fail its test, not this process: the answer says what happened.
      const status = error instanceof BadFakeHeader ? 400 : 500;
      return { answer: openAiError(request, status, String(error)), behavior: {} };
    }
  }

  #complete(request: ReceivedRequest, closeAfter: boolean): void {
    request.finished = true;
    this.#player = null;
    // After an early answer the peer is left to close: it may still be sending.
    if (closeAfter && !this.#deaf) this.socket.end();
    // The player completes within `play`, which may be inside `#advance`: more waiting bytes start a fresh turn.
    if (!closeAfter && this.#parser.waiting > 0) queueMicrotask(() => this.#advance());
  }

  #refuse(status: number, message: string): void {
    this.#request = null;
    const answer = jsonResponse(status, openAiErrorMessage(message));
    const plan = planResponse(answer, {}, { headOnly: false, closeDelimited: false, closeAfter: true });
    for (const step of plan) if (step instanceof Uint8Array) this.socket.write(step);
    this.socket.end();
  }
}

function openAiErrorMessage(message: string): unknown {
  return { error: { message, type: "invalid_request_error", param: null, code: "malformed_http" } };
}
