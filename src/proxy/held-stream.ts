// Holds the events at the start of a stream that have no content: until the client gets a byte, another target can be tried.
import type { Clock } from "../base/clock.ts";
import { StreamOpening, type Opening, type OpeningOf } from "../formats/stream-opening.ts";
import type { BodyReader } from "../http/body-reader.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";

export interface HoldLimits {
  readonly max_ms: number;
  readonly max_bytes: number;
}

export const HOLD_NOTHING: HoldLimits = { max_ms: 0, max_bytes: 0 };

/** Of an upstream that hedges: the client gets nothing of a target before its first content. The bytes limit the memory. */
export const HOLD_UNTIL_CONTENT: HoldLimits = { max_ms: Infinity, max_bytes: 1024 * 1024 };

/** After its filter has ended a stream, a provider sends its usage at once. */
const HOLD_REST: HoldLimits = { max_ms: 1000, max_bytes: 1024 * 1024 };

/** A provider may send one byte at a time, and each piece takes much more memory than a byte. More pieces become one. */
const MAX_PIECES = 256;

const LATE = Symbol("late");

export class HeldStream implements BodyReader {
  readonly #reader: BodyReader;
  readonly #onContent: () => void;
  /** Null after the first content. */
  #opening: StreamOpening | null;
  #isFiltered = false;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  /** A read that was still waiting when holding ended. */
  #pendingRead: Promise<Uint8Array | null> | null = null;

  /** `onContent` is called once, with the first content or the end of the stream. */
  constructor(reader: BodyReader, openingOf: OpeningOf, onContent: () => void) {
    this.#reader = reader;
    this.#opening = new StreamOpening(openingOf);
    this.#onContent = onContent;
  }

  /**
   * Resolves with the first content, or when the limits are reached. Rejects with an UpstreamError if the stream breaks, ends, or reports an error
   * before.
   */
  async hold(limits: HoldLimits, clock: Clock): Promise<void> {
    if (limits.max_ms === 0) return;
    await this.#holdWhile(limits, clock, (chunk) => {
      if (chunk === null) throw new UpstreamError("empty_stream");
      const opening = this.#inspect(chunk);
      if (opening === "error") throw new UpstreamError("error_event");
      this.#isFiltered = opening === "filtered";
      return this.#opening !== null;
    });
  }

  /** Resolves at the end of the stream or of HOLD_REST. Nothing else may read meanwhile. Never rejects. */
  async holdRest(clock: Clock): Promise<void> {
    const takesMore = (chunk: Uint8Array | null) => {
      if (chunk === null) this.#pendingRead = Promise.resolve(null);
      return chunk !== null;
    };
    // The next read reports the error.
    await this.#holdWhile(HOLD_REST, clock, takesMore).catch(() => undefined);
  }

  /** Holds what arrives while `takesMore` returns true. */
  async #holdWhile(
    { max_ms, max_bytes }: HoldLimits,
    clock: Clock,
    takesMore: (chunk: Uint8Array | null) => boolean,
  ): Promise<void> {
    const late = Promise.withResolvers<typeof LATE>();
    const timer = max_ms === Infinity ? null : clock.setTimeout(() => late.resolve(LATE), max_ms);
    try {
      while (this.#heldBytes < max_bytes) {
        const read = (this.#pendingRead ??= this.#reader.next());
        const chunk = await Promise.race([read, late.promise]);
        if (chunk === LATE) {
          // The next read reports the error.
          read.catch(() => undefined);
          return;
        }
        this.#pendingRead = null;
        if (chunk !== null) this.#keep(chunk);
        if (!takesMore(chunk)) return;
      }
    } finally {
      timer?.close();
    }
  }

  /** What is held now. */
  get held(): readonly Uint8Array[] {
    return this.#held;
  }

  async next(): Promise<Uint8Array | null> {
    const held = this.#held.shift();
    if (held !== undefined) return held;
    const chunk = await (this.#pendingRead ?? this.#reader.next());
    this.#pendingRead = null;
    if (this.#opening === null) return chunk;
    if (chunk === null) this.#seeContent();
    else this.#inspect(chunk);
    return chunk;
  }

  async peek(): Promise<Uint8Array | null> {
    const first = this.#held[0] ?? (await this.next());
    if (first !== null && this.#held[0] !== first) this.#held.unshift(first);
    return first;
  }

  cancel(): void {
    this.#seeContent();
    this.#reader.cancel();
  }

  #keep(chunk: Uint8Array): void {
    this.#held.push(chunk);
    this.#heldBytes += chunk.byteLength;
    if (this.#held.length > MAX_PIECES) this.#held = [Buffer.concat(this.#held)];
  }

  /** Whether the stream is complete without content, because of the provider's content filter, and nothing of it was released. */
  get isFiltered(): boolean {
    return this.#isFiltered;
  }

  #inspect(chunk: Uint8Array): Opening {
    const opening = this.#opening?.push(chunk) ?? "content";
    if (opening !== "quiet") this.#seeContent();
    return opening;
  }

  /** Nothing has to be waited for any more. */
  #seeContent(): void {
    if (this.#opening === null) return;
    this.#opening = null;
    this.#onContent();
  }
}
