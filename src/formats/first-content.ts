// Finds out when the first content of one stream passes, however the stream is split into chunks.
import type { Clock } from "../base/clock.ts";
import type { ContentKind, ContentReader } from "./content-reader.ts";

/** A stream without content in its first bytes is searched no further. It may not be a chat. */
const MAX_SEARCHED_BYTES = 1024 * 1024;
/** A line in more pieces than this is not collected: a million pieces of one byte would take 100 MB. */
const MAX_PIECES = 1024;
const LF = 0x0a;
const CR = 0x0d;

export class FirstContent {
  readonly #reader: ContentReader;
  readonly #clock: Clock;
  /** Call `push` only while this is true. */
  isSearching = true;
  /** A time of the clock; null if there was no content yet. */
  seenAt: number | null = null;
  kind: ContentKind | null = null;
  /** The pieces of the incomplete line. */
  #incompleteLine: Uint8Array[] = [];
  #bytes = 0;

  constructor(reader: ContentReader, clock: Clock) {
    this.#reader = reader;
    this.#clock = clock;
  }

  /** Call with the next bytes of the stream, decoded. */
  push(chunk: Uint8Array): void {
    const end = Math.max(chunk.lastIndexOf(LF), chunk.lastIndexOf(CR)) + 1;
    if (end > 0) {
      const lines = end === chunk.byteLength ? chunk : chunk.subarray(0, end);
      const isFirstLineWhole = this.#incompleteLine.length === 0;
      this.kind = this.#reader.contentIn(
        isFirstLineWhole ? lines : Buffer.concat([...this.#incompleteLine, lines]),
      );
      if (this.kind !== null) {
        this.seenAt = this.#clock.now();
        this.#stop();
        return;
      }
      this.#incompleteLine = [];
    }
    if (end < chunk.byteLength) this.#incompleteLine.push(chunk.subarray(end));
    this.#bytes += chunk.byteLength;
    if (this.#bytes > MAX_SEARCHED_BYTES || this.#incompleteLine.length > MAX_PIECES) this.#stop();
  }

  #stop(): void {
    this.isSearching = false;
    this.#incompleteLine = [];
  }
}
