// Server-sent events: an incremental parser over bytes, and the encoder for events that the gateway writes.
// Follows the event stream grammar of the WHATWG HTML standard. `id` and `retry` are ignored: no provider's API uses them.
import { copyBytes, hasByteOrderMark, utf8Between } from "../base/byte-search.ts";

export interface SseEvent {
  /** The `event:` field, or null if there is none. */
  readonly event: string | null;
  readonly data: string;
}

const DEFAULT_MAX_EVENT_BYTES = 4 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const INITIAL_LINE_CAPACITY = 512;
/** A line buffer that grew beyond this is replaced, so that one large event does not occupy memory for a long stream. */
const MAX_KEPT_LINE_CAPACITY = 64 * 1024;

export class SseTooLargeError extends Error {
  override readonly name = "SseTooLargeError";

  constructor(maxEventBytes: number) {
    super(`A server-sent event is larger than ${maxEventBytes} bytes; the stream is aborted.`);
  }
}

export class SseParser {
  readonly #maxEventBytes: number;
  // The incomplete line. Its buffer doubles when it is full, so that even bytes arriving one at a time take linear time.
  #line = new Uint8Array(INITIAL_LINE_CAPACITY);
  #lineLength = 0;
  #isFirstLine = true;
  #afterCarriageReturn = false;
  // The incomplete event.
  #event = "";
  #data: string[] = [];
  #eventBytes = 0;

  constructor(maxEventBytes: number = DEFAULT_MAX_EVENT_BYTES) {
    this.#maxEventBytes = maxEventBytes;
  }

  /** Whether bytes of an event have arrived whose blank line has not. */
  get hasIncompleteEvent(): boolean {
    return this.#lineLength > 0 || this.#data.length > 0 || this.#event !== "";
  }

  /** Returns the events that the next bytes of the stream complete. Keeps no reference to `bytes`. */
  push(bytes: Uint8Array): SseEvent[] {
    const events: SseEvent[] = [];
    let start = this.#skipLineFeedAfterReturn(bytes);
    // Each search is repeated only after its result has been passed, so each byte is read once per search.
    let lf = bytes.indexOf(LF, start);
    let cr = bytes.indexOf(CR, start);
    while (lf !== -1 || cr !== -1) {
      const end = cr === -1 || (lf !== -1 && lf < cr) ? lf : cr;
      const event = this.#endLine(bytes, start, end);
      if (event !== null) events.push(event);
      start = end + 1;
      if (end === cr) {
        if (start === bytes.length) this.#afterCarriageReturn = true;
        else if (bytes[start] === LF) start += 1;
        cr = bytes.indexOf(CR, start);
      }
      if (lf !== -1 && lf < start) lf = bytes.indexOf(LF, start);
    }
    if (start < bytes.length) this.#keep(bytes, start, bytes.length);
    return events;
  }

  #skipLineFeedAfterReturn(bytes: Uint8Array): number {
    if (!this.#afterCarriageReturn || bytes.length === 0) return 0;
    this.#afterCarriageReturn = false;
    return bytes[0] === LF ? 1 : 0;
  }

  /** Adds the bytes from `start` to `end`, exclusive, to the incomplete line. */
  #keep(bytes: Uint8Array, start: number, end: number): void {
    const length = this.#lineLength + end - start;
    if (this.#eventBytes + length > this.#maxEventBytes) throw new SseTooLargeError(this.#maxEventBytes);
    if (length > this.#line.length) {
      const grown = new Uint8Array(Math.max(length, this.#line.length * 2));
      copyBytes(this.#line, grown, 0, 0, this.#lineLength);
      this.#line = grown;
    }
    copyBytes(bytes, this.#line, this.#lineLength, start, end);
    this.#lineLength = length;
  }

  /** The bytes from `start` to `end`, exclusive, are the end of a line. */
  #endLine(bytes: Uint8Array, start: number, end: number): SseEvent | null {
    if (this.#lineLength === 0) {
      if (this.#eventBytes + end - start > this.#maxEventBytes)
        throw new SseTooLargeError(this.#maxEventBytes);
      return this.#readLine(bytes, start, end);
    }
    this.#keep(bytes, start, end);
    const length = this.#lineLength;
    this.#lineLength = 0;
    const event = this.#readLine(this.#line, 0, length);
    if (this.#line.length > MAX_KEPT_LINE_CAPACITY) this.#line = new Uint8Array(INITIAL_LINE_CAPACITY);
    return event;
  }

  #readLine(bytes: Uint8Array, from: number, end: number): SseEvent | null {
    let start = from;
    if (this.#isFirstLine) {
      this.#isFirstLine = false;
      if (end - start >= 3 && hasByteOrderMark(bytes, start)) start += 3;
    }
    if (start === end) return this.#dispatch();
    if (bytes[start] === COLON) return null;
    // A UTF-8 sequence never contains CR or LF bytes, so no decoder state is needed across lines.
    const text = utf8Between(bytes, start, end);
    const colon = text.indexOf(":");
    const field = colon === -1 ? text : text.slice(0, colon);
    if (field !== "data" && field !== "event") return null;
    this.#eventBytes += end - start;
    const valueStart = text[colon + 1] === " " ? colon + 2 : colon + 1;
    const value = colon === -1 ? "" : text.slice(valueStart);
    if (field === "data") this.#data.push(value);
    else this.#event = value;
    return null;
  }

  #dispatch(): SseEvent | null {
    const name = this.#event === "" ? null : this.#event;
    // The grammar drops events without a data line. An empty data line counts as one.
    const event = this.#data.length === 0 ? null : { event: name, data: this.#data.join("\n") };
    this.#event = "";
    this.#data = [];
    this.#eventBytes = 0;
    return event;
  }
}

/** Returns one event as text, so that callers can join several events and encode them at once. */
export function formatSse(event: { readonly event?: string | null; readonly data: string }): string {
  const name = event.event ?? "";
  if (/[\r\n]/.test(name)) throw new Error("The name of a server-sent event must not contain a line break.");
  let text = name === "" ? "" : `event: ${name}\n`;
  for (const line of event.data.split(/\r\n|\r|\n/)) text += `data: ${line}\n`;
  return text + "\n";
}
