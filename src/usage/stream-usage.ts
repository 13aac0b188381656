// Reads the usage out of an event stream that passes by and, where the gateway asked for it on its own account, takes
// out the chunk that holds nothing else. Every other byte stays as it came, however the stream is cut into chunks.
import { SseParser } from "../formats/sse.ts";
import type { UsageAccumulator } from "./usage.ts";
import { mayTellUsage } from "./usage-in-json.ts";

/** A larger event is not looked at. */
const MAX_EVENT_BYTES = 1024 * 1024;
const NOTHING = new Uint8Array(0);
const LF = 0x0a;
const CR = 0x0d;
// The typed array's own search looks for single bytes only.
const { indexOf } = Buffer.prototype as {
  indexOf: (this: Uint8Array, needle: Uint8Array, from: number) => number;
};

export class StreamUsage {
  readonly #told: UsageAccumulator;
  readonly #takesOut: boolean;
  /** The event that is not complete yet. Where usage is taken out it is held back, else it has gone already. */
  #unfinished: Uint8Array[] = [];
  #unfinishedBytes = 0;
  /** The event under way is too large. */
  #isSkipping = false;
  #isLineEmpty = true;
  /** Lines end with CR or CRLF, which must be looked for byte by byte. */
  #hasReturns = false;
  #isAfterReturn = false;
  #wasTakenOut = false;

  constructor(told: UsageAccumulator, takesOut: boolean) {
    this.#told = told;
    this.#takesOut = takesOut;
  }

  /** What goes on of these bytes now, with what was held back before. */
  push(chunk: Uint8Array): Uint8Array {
    // Most chunks are whole events.
    const isFresh = this.#unfinishedBytes === 0 && !this.#isSkipping && !this.#isAfterReturn;
    if (isFresh && endsEvent(chunk) && !mayTellUsage(chunk)) return chunk;
    this.#hasReturns ||= chunk.includes(CR);
    return this.#takesOut ? this.#filter(chunk) : this.#watch(chunk);
  }

  /** The end of the stream: what is still held back. */
  rest(): Uint8Array {
    const event = this.#takeUnfinished();
    const isUsage = event.byteLength > 0 && this.#look(event);
    return this.#takesOut && !isUsage ? event : NOTHING;
  }

  /** The stream broke: what was held back is the client's, as far as it came. */
  broken(): Uint8Array {
    return this.#takesOut ? this.#takeUnfinished() : NOTHING;
  }

  #watch(chunk: Uint8Array): Uint8Array {
    const tells = mayTellUsage(chunk);
    let from = 0;
    for (let end = this.#endOfEvent(chunk, 0); end >= 0; end = this.#endOfEvent(chunk, end)) {
      this.#endEvent(chunk, from, end, tells);
      from = end;
    }
    this.#keep(chunk.subarray(from));
    return chunk;
  }

  #filter(chunk: Uint8Array): Uint8Array {
    const passing: Uint8Array[] = [];
    const tells = mayTellUsage(chunk);
    let from = this.#passLineFeed(chunk, passing);
    // What passes on without a gap.
    let runFrom = from;
    for (let end = this.#endOfEvent(chunk, from); end >= 0; end = this.#endOfEvent(chunk, end)) {
      const held = this.#unfinished;
      this.#wasTakenOut = this.#endEvent(chunk, from, end, tells);
      if (this.#wasTakenOut) {
        passing.push(chunk.subarray(runFrom, from));
        runFrom = end;
      } else passing.push(...held);
      from = end;
    }
    const held = this.#unfinished;
    this.#keep(chunk.subarray(from));
    if (this.#isSkipping) passing.push(...held, chunk.subarray(runFrom));
    else passing.push(chunk.subarray(runFrom, from));
    return joined(passing.filter((piece) => piece.byteLength > 0));
  }

  /** The second half of a CRLF whose first half ended an event belongs to that event. */
  #passLineFeed(chunk: Uint8Array, passing: Uint8Array[]): number {
    const isBetween = this.#unfinishedBytes === 0 && !this.#isSkipping;
    if (!this.#isAfterReturn || !isBetween || chunk[0] !== LF) return 0;
    this.#isAfterReturn = false;
    if (!this.#wasTakenOut) passing.push(chunk.subarray(0, 1));
    return 1;
  }

  /** Keeps the beginning of an event until its end comes. */
  #keep(tail: Uint8Array): void {
    if (this.#isSkipping || tail.byteLength === 0) return;
    this.#unfinishedBytes += tail.byteLength;
    if (this.#unfinishedBytes <= MAX_EVENT_BYTES) {
      this.#unfinished.push(tail);
      return;
    }
    this.#isSkipping = true;
    this.#unfinished = [];
    this.#unfinishedBytes = 0;
  }

  /** True: the event that ends here is to be taken out. Where `tells` is false the chunk has no usage in it. */
  #endEvent(chunk: Uint8Array, from: number, end: number, tells: boolean): boolean {
    if (this.#isSkipping) {
      this.#isSkipping = false;
      return false;
    }
    if (this.#unfinishedBytes > 0) {
      const before = this.#takeUnfinished();
      return this.#look(Buffer.concat([before, chunk.subarray(from, end)]));
    }
    return tells && this.#look(chunk.subarray(from, end));
  }

  #takeUnfinished(): Uint8Array {
    const event = joined(this.#unfinished);
    this.#unfinished = [];
    this.#unfinishedBytes = 0;
    return event;
  }

  #look(event: Uint8Array): boolean {
    if (!mayTellUsage(event)) return false;
    const parser = new SseParser();
    // At the end of the stream the blank line may be missing.
    const [found] = [...parser.push(event), ...parser.push(BLANK_LINE)];
    let value: unknown;
    try {
      value = JSON.parse(found?.data ?? "null");
    } catch {
      return false;
    }
    return this.#told.addEvent(value);
  }

  /** The index behind the blank line that ends the event under way, or -1 where it goes on. */
  #endOfEvent(bytes: Uint8Array, from: number): number {
    if (this.#hasReturns) return this.#endOfEventWithReturns(bytes, from);
    if (this.#isLineEmpty && bytes[from] === LF) return from + 1;
    const end = indexOf.call(bytes, TWO_LINE_FEEDS, from);
    if (from < bytes.byteLength) this.#isLineEmpty = end >= 0 || bytes[bytes.byteLength - 1] === LF;
    return end < 0 ? -1 : end + 2;
  }

  /** The same where lines may end with CR as well. */
  #endOfEventWithReturns(bytes: Uint8Array, from: number): number {
    for (let at = from; at < bytes.byteLength; at++) {
      const byte = bytes[at];
      if (byte === LF && this.#isAfterReturn) {
        this.#isAfterReturn = false;
      } else if (byte === LF || byte === CR) {
        this.#isAfterReturn = byte === CR;
        if (this.#isLineEmpty) {
          if (byte === LF || bytes[at + 1] !== LF) return at + 1;
          this.#isAfterReturn = false;
          return at + 2;
        }
        this.#isLineEmpty = true;
      } else {
        this.#isLineEmpty = false;
        this.#isAfterReturn = false;
      }
    }
    return -1;
  }
}

const TWO_LINE_FEEDS = Buffer.from("\n\n");
const BLANK_LINE = Buffer.from("\n\n\n");

function endsEvent(chunk: Uint8Array): boolean {
  const { byteLength } = chunk;
  if (chunk[byteLength - 1] !== LF) return false;
  if (chunk[byteLength - 2] === LF) return true;
  return chunk[byteLength - 2] === CR && chunk[byteLength - 3] === LF && chunk[byteLength - 4] === CR;
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [only = NOTHING] = pieces;
  return pieces.length > 1 ? Buffer.concat(pieces) : only;
}
