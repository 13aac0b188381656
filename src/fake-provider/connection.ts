// One TCP connection: takes requests out of its bytes one at a time, has each answered, notices when the peer leaves.
import { AnswerPlayer, type RawSocket } from "./response-player.ts";
import { jsonAnswer } from "./response.ts";
import { BadFakeHeader, type Behaviour, FAKE_HEADER, readFakeHeader } from "./behavior.ts";
import { type RequestHead, RequestParser } from "./http-parser.ts";
import { planAnswer } from "./misbehave.ts";
import { openAiError } from "./openai-responses.ts";
import type { ReceivedRequest } from "./recorded-request.ts";
import { chooseAnswer } from "./route-response.ts";

/** What a connection needs of the provider it belongs to. */
export interface ConnectionOwner {
  readonly name: string;
  begin(head: RequestHead, connection: number): ReceivedRequest;
  uploaded(request: ReceivedRequest): void;
  behaviourFor(request: ReceivedRequest): Behaviour;
  /** What is known before the request is read; empty when a function decides. */
  fixedBehaviour(): Behaviour;
}

const MAX_WAITING_BYTES = 1 << 20;
const CONTINUE = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");

export class Connection {
  readonly #parser = new RequestParser();
  #request: ReceivedRequest | null = null;
  #player: AnswerPlayer | null = null;
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
    this.#request = this.owner.begin(head, this.serial);
    if (this.#answersEarly(this.#request)) {
      this.#deaf = true;
      this.#answer(this.#request.body);
    } else if (this.#request.header("expect")?.toLowerCase() === "100-continue") this.socket.write(CONTINUE);
  }

  #answersEarly(request: ReceivedRequest): boolean {
    if (this.owner.fixedBehaviour().answerEarly === true) return true;
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
    this.owner.uploaded(request);
    const { answer, behaviour } = this.#decide(request);
    const oldVersion = request.version === "HTTP/1.0";
    const closeDelimited = oldVersion || behaviour.closeDelimited === true;
    const closeAfter =
      this.#deaf ||
      closeDelimited ||
      behaviour.closeConnection === true ||
      request.header("connection")?.toLowerCase() === "close";
    const plan = planAnswer(answer, behaviour, {
      headOnly: request.method === "HEAD",
      closeDelimited,
      closeAfter,
    });
    this.#player = new AnswerPlayer(this.socket, plan, request, (how) => {
      this.#request = null;
      if (how === "complete") this.#complete(request, closeAfter);
    });
    this.#player.play();
  }

  #decide(request: ReceivedRequest): { answer: ReturnType<typeof chooseAnswer>; behaviour: Behaviour } {
    try {
      const asked = request.header(FAKE_HEADER);
      const scripted = this.owner.behaviourFor(request);
      const behaviour = asked === undefined ? scripted : { ...scripted, ...readFakeHeader(asked) };
      return { answer: chooseAnswer(request, behaviour, this.owner.name), behaviour };
    } catch (error) {
      // A script that throws must fail its test, not this process: the answer says what happened.
      const status = error instanceof BadFakeHeader ? 400 : 500;
      return { answer: openAiError(request, status, String(error)), behaviour: {} };
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
    const answer = jsonAnswer(status, openAiErrorMessage(message));
    const plan = planAnswer(answer, {}, { headOnly: false, closeDelimited: false, closeAfter: true });
    for (const step of plan) if (step instanceof Uint8Array) this.socket.write(step);
    this.socket.end();
  }
}

function openAiErrorMessage(message: string): unknown {
  return { error: { message, type: "invalid_request_error", param: null, code: "malformed_http" } };
}
