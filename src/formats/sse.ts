// Server-Sent Events: an incremental parser over bytes, and the encoder for events the gateway writes itself.
// Follows the WHATWG event stream grammar; `id` and `retry` are read over, for no provider's API uses them.

export interface SseEvent {
  /** The `event:` name; null where the stream gave none. */
  readonly event: string | null;
  readonly data: string;
}

export const DEFAULT_MAX_EVENT_BYTES = 4 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const FIRST_LINE_CAPACITY = 512;
/** A line buffer that one large event blew up is let go again, so that a long stream does not hold on to it. */
const KEPT_LINE_CAPACITY = 64 * 1024;

// Lines are decoded whole: CR and LF bytes never stand inside a UTF-8 sequence, so no decoder state crosses lines.
// Only a BOM at the very start of the stream is dropped, and that is done by hand; hence ignoreBOM.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
export class SseTooLargeError extends Error {
  override readonly name = "SseTooLargeError";

  constructor(readonly maxEventBytes: number) {
    super(`A server-sent event is larger than ${maxEventBytes} bytes; the stream is given up.`);
  }
}

export class SseParser {
  readonly #maxEventBytes: number;
  // The unfinished line, kept in a buffer that doubles: bytes arriving one at a time still cost linear time.
  #line = new Uint8Array(FIRST_LINE_CAPACITY);
  #lineLength = 0;
  #isFirstLine = true;
  #afterCarriageReturn = false;
  // The unfinished event.
  #event = "";
  #data: string[] = [];
  #eventBytes = 0;

  constructor(maxEventBytes: number = DEFAULT_MAX_EVENT_BYTES) {
    this.#maxEventBytes = maxEventBytes;
  }

  /** Takes the next bytes, cut anywhere, and returns the events they complete. Keeps no reference to `bytes`. */
  push(bytes: Uint8Array): SseEvent[] {
    const events: SseEvent[] = [];
    let start = this.#skipLineFeedAfterReturn(bytes);
    // Each position is searched for anew only once it has been passed; so every byte is looked at once per search.
    let lf = bytes.indexOf(LF, start);
    let cr = bytes.indexOf(CR, start);
    while (lf !== -1 || cr !== -1) {
      const end = cr === -1 || (lf !== -1 && lf < cr) ? lf : cr;
      const event = this.#endLine(bytes.subarray(start, end));
      if (event !== null) events.push(event);
      start = end + 1;
      if (end === cr) {
        if (start === bytes.length) this.#afterCarriageReturn = true;
        else if (bytes[start] === LF) start += 1;
        cr = bytes.indexOf(CR, start);
      }
      if (lf !== -1 && lf < start) lf = bytes.indexOf(LF, start);
    }
    if (start < bytes.length) this.#keep(bytes.subarray(start));
    return events;
  }

  /** True when the stream, were it to end now, would cut an event in two. */
  get hasPartialEvent(): boolean {
    if (this.#data.length > 0 || this.#event !== "") return true;
    return this.#lineLength > 0 && this.#line[0] !== COLON;
  }

  #skipLineFeedAfterReturn(bytes: Uint8Array): number {
    if (!this.#afterCarriageReturn || bytes.length === 0) return 0;
    this.#afterCarriageReturn = false;
    return bytes[0] === LF ? 1 : 0;
  }

  #keep(tail: Uint8Array): void {
    const length = this.#lineLength + tail.length;
    if (this.#eventBytes + length > this.#maxEventBytes) throw new SseTooLargeError(this.#maxEventBytes);
    if (length > this.#line.length) {
      const grown = new Uint8Array(Math.max(length, this.#line.length * 2));
      grown.set(this.#line.subarray(0, this.#lineLength));
      this.#line = grown;
    }
    this.#line.set(tail, this.#lineLength);
    this.#lineLength = length;
  }

  #endLine(end: Uint8Array): SseEvent | null {
    if (this.#lineLength === 0) {
      if (this.#eventBytes + end.length > this.#maxEventBytes)
        throw new SseTooLargeError(this.#maxEventBytes);
      return this.#readLine(end);
    }
    this.#keep(end);
    const line = this.#line.subarray(0, this.#lineLength);
    this.#lineLength = 0;
    const event = this.#readLine(line);
    if (this.#line.length > KEPT_LINE_CAPACITY) this.#line = new Uint8Array(FIRST_LINE_CAPACITY);
    return event;
  }

  #readLine(bytes: Uint8Array): SseEvent | null {
    let line = bytes;
    if (this.#isFirstLine) {
      this.#isFirstLine = false;
      if (line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf) line = line.subarray(3);
    }
    if (line.length === 0) return this.#dispatch();
    if (line[0] === COLON) return null;
    const text = decoder.decode(line);
    const colon = text.indexOf(":");
    const field = colon === -1 ? text : text.slice(0, colon);
    if (field !== "data" && field !== "event") return null;
    this.#eventBytes += line.length;
    const valueStart = text[colon + 1] === " " ? colon + 2 : colon + 1;
    const value = colon === -1 ? "" : text.slice(valueStart);
    if (field === "data") this.#data.push(value);
    else this.#event = value;
    return null;
  }

  #dispatch(): SseEvent | null {
    const name = this.#event === "" ? null : this.#event;
    // The grammar drops an event without any data line; an empty data line does count.
    const event = this.#data.length === 0 ? null : { event: name, data: this.#data.join("\n") };
    this.#event = "";
    this.#data = [];
    this.#eventBytes = 0;
    return event;
  }
}

/** One event as text; callers that write several at once join the text and encode it in one go. */
export function formatSse(event: { readonly event?: string | null; readonly data: string }): string {
  const name = event.event ?? "";
  if (/[\r\n]/.test(name)) throw new Error("The name of a server-sent event must not hold a line break.");
  let text = name === "" ? "" : `event: ${name}\n`;
  for (const line of event.data.split(/\r\n|\r|\n/)) text += `data: ${line}\n`;
  return text + "\n";
}
