// Reads the usage from an event stream that is being relayed and, if only the gateway requested it, removes the event that
// reports it. All other bytes stay unchanged, however the stream is split into chunks.
import { MAX_EVENT_ITEMS, parseBounded } from "../base/bounded-json.ts";
import { indexOfBytes } from "../base/byte-search.ts";
import { SseParser } from "../formats/sse.ts";
import type { UsageReader } from "../formats/usage-reader.ts";
import { LargeEvent } from "./large-event.ts";
import type { UsageAccumulator } from "./usage-accumulator.ts";

/** Larger events are not kept: they are relayed, and read while they arrive. */
const MAX_EVENT_BYTES = 1024 * 1024;
const NO_BYTES = new Uint8Array(0);
const LF = 0x0a;
const CR = 0x0d;
const TWO_LINE_FEEDS = Buffer.from("\n\n");
/** Ends an event whose last line may lack its line feed. */
const EVENT_END = Buffer.from("\n\n\n");

export class StreamUsageFilter {
  readonly #reader: UsageReader;
  readonly #usage: UsageAccumulator;
  readonly #removesUsageEvent: boolean;
  /** The pieces of the incomplete event. They are held back if usage events are removed, and already relayed otherwise. */
  #incompleteEvent: Uint8Array[] = [];
  #incompleteBytes = 0;
  /** The current event if it is too large to be kept. */
  #largeEvent: LargeEvent | null = null;
  #isAtLineStart = true;
  /** The stream has CR or CRLF line ends, which requires a search byte by byte. */
  #hasCarriageReturns = false;
  #isAfterCarriageReturn = false;
  #wasLastEventRemoved = false;

  constructor(reader: UsageReader, usage: UsageAccumulator, removesUsageEvent: boolean) {
    this.#reader = reader;
    this.#usage = usage;
    this.#removesUsageEvent = removesUsageEvent;
  }

  /** Returns the bytes to relay now, including those held back before. */
  push(chunk: Uint8Array): Uint8Array {
    // The common case: a chunk of complete events without usage.
    const isBetweenEvents =
      this.#incompleteBytes === 0 && this.#largeEvent === null && !this.#isAfterCarriageReturn;
    if (isBetweenEvents && endsEvent(chunk) && !this.#reader.mayContainUsage(chunk)) return chunk;
    this.#hasCarriageReturns ||= chunk.includes(CR);
    return this.#removesUsageEvent ? this.#filter(chunk) : this.#observe(chunk);
  }

  /** Call at the end of the stream. Returns the held back bytes to relay. */
  end(): Uint8Array {
    const event = this.#takeIncompleteEvent();
    if (this.#largeEvent !== null) this.#endLargeEvent(this.#largeEvent);
    const isUsageOnly = event.byteLength > 0 && this.#readEvent(event);
    return this.#removesUsageEvent && !isUsageOnly ? event : NO_BYTES;
  }

  /** Call instead of `end` if the stream was cut. Returns the held back bytes to relay. */
  abort(): Uint8Array {
    return this.#removesUsageEvent ? this.#takeIncompleteEvent() : NO_BYTES;
  }

  #observe(chunk: Uint8Array): Uint8Array {
    const mayContainUsage = this.#reader.mayContainUsage(chunk);
    let from = 0;
    for (let end = this.#findEventEnd(chunk, 0); end >= 0; end = this.#findEventEnd(chunk, end)) {
      this.#endEvent(chunk, from, end, mayContainUsage);
      from = end;
    }
    this.#keepIncompleteEvent(chunk.subarray(from));
    return chunk;
  }

  #filter(chunk: Uint8Array): Uint8Array {
    const relayed: Uint8Array[] = [];
    const mayContainUsage = this.#reader.mayContainUsage(chunk);
    let from = this.#relayLineFeed(chunk, relayed);
    // Start of the bytes that are relayed in one piece.
    let pieceFrom = from;
    for (let end = this.#findEventEnd(chunk, from); end >= 0; end = this.#findEventEnd(chunk, end)) {
      const heldBack = this.#incompleteEvent;
      this.#wasLastEventRemoved = this.#endEvent(chunk, from, end, mayContainUsage);
      if (this.#wasLastEventRemoved) {
        relayed.push(chunk.subarray(pieceFrom, from));
        pieceFrom = end;
      } else relayed.push(...heldBack);
      from = end;
    }
    const heldBack = this.#incompleteEvent;
    this.#keepIncompleteEvent(chunk.subarray(from));
    if (this.#largeEvent !== null) relayed.push(...heldBack, chunk.subarray(pieceFrom));
    else relayed.push(chunk.subarray(pieceFrom, from));
    return concat(relayed.filter((piece) => piece.byteLength > 0));
  }

  /** A line feed at the start of a chunk belongs to the previous event if that ended with the CR of a CRLF. */
  #relayLineFeed(chunk: Uint8Array, relayed: Uint8Array[]): number {
    const isBetweenEvents = this.#incompleteBytes === 0 && this.#largeEvent === null;
    if (!this.#isAfterCarriageReturn || !isBetweenEvents || chunk[0] !== LF) return 0;
    this.#isAfterCarriageReturn = false;
    if (!this.#wasLastEventRemoved) relayed.push(chunk.subarray(0, 1));
    return 1;
  }

  #keepIncompleteEvent(tail: Uint8Array): void {
    if (tail.byteLength === 0) return;
    if (this.#largeEvent !== null) {
      this.#largeEvent.push(tail);
      return;
    }
    this.#incompleteBytes += tail.byteLength;
    if (this.#incompleteBytes <= MAX_EVENT_BYTES) {
      this.#incompleteEvent.push(tail);
      return;
    }
    this.#largeEvent = new LargeEvent();
    for (const piece of this.#incompleteEvent) this.#largeEvent.push(piece);
    this.#largeEvent.push(tail);
    this.#incompleteEvent = [];
    this.#incompleteBytes = 0;
  }

  /** Returns true if the event that ends at `end` must be removed. `mayContainUsage` is about the whole chunk. */
  #endEvent(chunk: Uint8Array, from: number, end: number, mayContainUsage: boolean): boolean {
    if (this.#largeEvent !== null) {
      this.#largeEvent.push(chunk.subarray(from, end));
      this.#endLargeEvent(this.#largeEvent);
      return false;
    }
    if (this.#incompleteBytes > 0) {
      const start = this.#takeIncompleteEvent();
      return this.#readEvent(Buffer.concat([start, chunk.subarray(from, end)]));
    }
    return mayContainUsage && this.#readEvent(chunk.subarray(from, end));
  }

  #takeIncompleteEvent(): Uint8Array {
    const event = concat(this.#incompleteEvent);
    this.#incompleteEvent = [];
    this.#incompleteBytes = 0;
    return event;
  }

  /** It has been relayed, whatever it reports. */
  #endLargeEvent(event: LargeEvent): void {
    this.#largeEvent = null;
    this.#usage.addEvent(event.value());
  }

  /** Reads the usage in an event. Returns true if the event reports nothing else. */
  #readEvent(event: Uint8Array): boolean {
    if (!this.#reader.mayContainUsage(event)) return false;
    return this.#usage.addEvent(parseEvent(event) ?? outlineOf(event));
  }

  /** Returns the index after the blank line that ends the current event, or -1 if the event continues after `bytes`. */
  #findEventEnd(bytes: Uint8Array, from: number): number {
    if (this.#hasCarriageReturns) return this.#findEventEndBytewise(bytes, from);
    if (this.#isAtLineStart && bytes[from] === LF) return from + 1;
    const end = indexOfBytes(bytes, TWO_LINE_FEEDS, from);
    if (from < bytes.byteLength) this.#isAtLineStart = end >= 0 || bytes[bytes.byteLength - 1] === LF;
    return end < 0 ? -1 : end + 2;
  }

  /** The same for streams with CR or CRLF line ends. */
  #findEventEndBytewise(bytes: Uint8Array, from: number): number {
    for (let at = from; at < bytes.byteLength; at++) {
      const byte = bytes[at];
      if (byte === LF && this.#isAfterCarriageReturn) {
        this.#isAfterCarriageReturn = false;
      } else if (byte === LF || byte === CR) {
        this.#isAfterCarriageReturn = byte === CR;
        if (this.#isAtLineStart) {
          if (byte === LF || bytes[at + 1] !== LF) return at + 1;
          this.#isAfterCarriageReturn = false;
          return at + 2;
        }
        this.#isAtLineStart = true;
      } else {
        this.#isAtLineStart = false;
        this.#isAfterCarriageReturn = false;
      }
    }
    return -1;
  }
}

/** Returns null for an event that is too large, or has too many values. */
function parseEvent(event: Uint8Array): unknown {
  if (event.byteLength > MAX_EVENT_BYTES) return null;
  const parser = new SseParser();
  // At the end of the stream the event may lack its blank line.
  const [parsed] = [...parser.push(event), ...parser.push(EVENT_END)];
  try {
    return parseBounded(parsed?.data ?? "null", MAX_EVENT_ITEMS);
  } catch {
    return null;
  }
}

function outlineOf(event: Uint8Array): unknown {
  const large = new LargeEvent();
  large.push(event);
  return large.value();
}

function endsEvent(chunk: Uint8Array): boolean {
  const { byteLength } = chunk;
  if (chunk[byteLength - 1] !== LF) return false;
  if (chunk[byteLength - 2] === LF) return true;
  return chunk[byteLength - 2] === CR && chunk[byteLength - 3] === LF && chunk[byteLength - 4] === CR;
}

function concat(pieces: readonly Uint8Array[]): Uint8Array {
  const [first = NO_BYTES] = pieces;
  return pieces.length > 1 ? Buffer.concat(pieces) : first;
}
