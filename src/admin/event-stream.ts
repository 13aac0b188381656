// A response of server-sent events without end. Events that the client has not read yet wait in a bounded queue.

/** Comments keep proxies from closing a connection without events. */
const COMMENT_MS = 15_000;
/** How often the sender of the request is authenticated again: a revoked or expired token must not receive more. */
const AUTHENTICATION_MS = 2000;
/** Limits of the queue. If a client reads too slowly, the oldest events are dropped and a `dropped` event counts them. */
export const MAX_QUEUED = 256;
export const MAX_QUEUED_CHARACTERS = 1024 * 1024;

export class EventStream {
  readonly #encoder = new TextEncoder();
  readonly #onClose: () => void;
  readonly #comments: Timer;
  readonly #authentications: Timer;
  #queue: string[] = [];
  #queuedCharacters = 0;
  #dropped = 0;
  #wake: (() => void) | null = null;
  #isEnded = false;

  /** `onClose` is called once, when the client disconnects or the stream is ended, also because `isAuthenticated` resolves to false. */
  constructor(onClose: () => void, isAuthenticated: () => Promise<boolean>) {
    this.#onClose = onClose;
    const authenticate = async () => {
      if (!(await isAuthenticated())) this.end();
    };
    this.#authentications = setInterval(() => void authenticate(), AUTHENTICATION_MS);
    this.#authentications.unref();
    this.#comments = setInterval(() => this.#put(":\n\n"), COMMENT_MS);
    this.#comments.unref();
  }

  send(event: string, data: string): void {
    if (this.#isEnded) return;
    this.#put(`event: ${event}\ndata: ${data}\n\n`);
    while (this.#queue.length > MAX_QUEUED || this.#queuedCharacters > MAX_QUEUED_CHARACTERS) {
      this.#queuedCharacters -= this.#queue.shift()?.length ?? 0;
      this.#dropped++;
    }
  }

  /** Ends the stream after the queued events are written. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearInterval(this.#comments);
    clearInterval(this.#authentications);
    this.#onClose();
    this.#wake?.();
  }

  response(): Response {
    // Bun sends the response headers with the first chunk of the body, so start with a comment.
    this.#put(":\n\n");
    const body = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          while (this.#queue.length === 0 && !this.#isEnded)
            await new Promise<void>((resolve) => (this.#wake = resolve));
          const text = this.#take();
          if (text === "") controller.close();
          else controller.enqueue(this.#encoder.encode(text));
        },
        cancel: () => {
          this.#take();
          this.end();
        },
      },
      { highWaterMark: 0 },
    );
    return new Response(body, {
      headers: {
        "Content-Type": "text/event-stream",
        "Cache-Control": "no-store",
        "X-Accel-Buffering": "no",
      },
    });
  }

  #put(text: string): void {
    this.#queue.push(text);
    this.#queuedCharacters += text.length;
    this.#wake?.();
  }

  /** Empties the queue and returns its text, after the `dropped` event if events were dropped. */
  #take(): string {
    const droppedEvent = this.#dropped === 0 ? "" : `event: dropped\ndata: {"count":${this.#dropped}}\n\n`;
    const text = droppedEvent + this.#queue.join("");
    this.#queue = [];
    this.#queuedCharacters = 0;
    this.#dropped = 0;
    return text;
  }
}
