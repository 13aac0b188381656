// Kept responses in memory: bounded by bytes, the least recently used ones are dropped first.
import type { Clock } from "../../base/clock.ts";
import type { KeptResponse, Occupied, ResponseBackend, StreamKind } from "./kept-response.ts";

/** Of one entry in addition to its body. */
export const OVERHEAD_BYTES = 512;

export class MemoryResponses implements ResponseBackend {
  readonly #clock: Clock;
  /** The least recently used one is the first. */
  readonly #entries = new Map<string, KeptResponse>();
  #bytes = 0;
  #purges = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get generation(): string {
    return String(this.#purges);
  }

  get(key: string): KeptResponse | null {
    const kept = this.#entries.get(key);
    if (kept === undefined) return null;
    this.#entries.delete(key);
    if (kept.expiresAt <= this.#clock.unixNow()) {
      this.#bytes -= sizeOf(kept);
      return null;
    }
    this.#entries.set(key, kept);
    return kept;
  }

  set(key: string, response: KeptResponse, maxBytes: number): void {
    this.#drop(key);
    this.#entries.set(key, response);
    this.#bytes += sizeOf(response);
    this.#shrink(maxBytes);
  }

  /** The response itself is the most recently used one. It stays, without the stream, if there is no room for both. */
  setStream(
    key: string,
    response: KeptResponse,
    kind: StreamKind,
    stream: Uint8Array,
    maxBytes: number,
  ): void {
    if (this.#entries.get(key) !== response || response.streams[kind] !== null) return;
    if (sizeOf(response) + stream.byteLength > maxBytes) return;
    response.streams[kind] = stream;
    this.#bytes += stream.byteLength;
    this.#shrink(maxBytes);
  }

  delete(key: string): void {
    this.#drop(key);
  }

  purge(): number {
    const { size } = this.#entries;
    this.#purges++;
    this.#entries.clear();
    this.#bytes = 0;
    return size;
  }

  occupied(): Occupied {
    return { entries: this.#entries.size, bytes: this.#bytes };
  }

  #shrink(maxBytes: number): void {
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= maxBytes) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    const kept = this.#entries.get(key);
    if (kept === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= sizeOf(kept);
  }
}

function sizeOf({ body, streams }: KeptResponse): number {
  return body.byteLength + streams.bytes + OVERHEAD_BYTES;
}
