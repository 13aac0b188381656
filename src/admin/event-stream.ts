// An answer of server-sent events that lasts: written at the client's pace, bounded, alive in silence.

const COMMENT_MS = 15_000;
/** What a client that reads slowly may have waiting. What is older gives way, and the client is told. */
export const MAX_QUEUED = 256;
export const MAX_QUEUED_CHARACTERS = 1024 * 1024;

export class EventStream {
  readonly #encoder = new TextEncoder();
  readonly #onClose: () => void;
  readonly #comments: Timer;
  #queue: string[] = [];
  #queuedCharacters = 0;
  #dropped = 0;
  #wake: (() => void) | null = null;
  #isEnded = false;

  /** `onClose`: the client has left, or the stream was ended. */
  constructor(onClose: () => void) {
    this.#onClose = onClose;
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

  /** What is queued is still written. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearInterval(this.#comments);
    this.#onClose();
    this.#wake?.();
  }

  response(): Response {
    // A first comment, so that the headers reach the client though nothing has happened yet.
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

  #take(): string {
    const told = this.#dropped === 0 ? "" : `event: dropped\ndata: {"count":${this.#dropped}}\n\n`;
    const text = told + this.#queue.join("");
    this.#queue = [];
    this.#queuedCharacters = 0;
    this.#dropped = 0;
    return text;
  }
}
