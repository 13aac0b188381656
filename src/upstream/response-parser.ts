// Reads HTTP/1.1 answers from the bytes of a connection, however they are cut: interim ones are skipped, the body is
// told as parts of what came.
import { MalformedResponse, parseHead, type ResponseHead } from "./response-headers.ts";
import type { HeaderFieldCache } from "./header-field-cache.ts";

export interface ResponseEvents {
  onHead(head: ResponseHead): void;
  onBody(bytes: Uint8Array): void;
  onEnd(): void;
}

const MAX_HEAD_BYTES = 64 * 1024;
const MAX_INTERIM = 32;
/** Of a chunk's size with its extensions, or of one trailer. */
const MAX_LINE_BYTES = 8 * 1024;
const MAX_TRAILER_BYTES = 16 * 1024;
const HEAD_END = Buffer.from("\r\n\r\n");
const CR = 0x0d;
const LF = 0x0a;
const MAX_SIZE_DIGITS = 12;
const CHUNK_SIZE = /^([0-9a-fA-F]{1,12})[ \t]*(?:;.*)?\r?$/;

type State = "head" | "body" | "chunk_line" | "chunk" | "chunk_end" | "trailers" | "ended";

/** One answer: `begin`, then `feed` until `isEnded`. A malformed one throws MalformedAnswer. */
export class ResponseParser {
  readonly #events: ResponseEvents;
  readonly #knownLines: HeaderFieldCache;
  #method = "GET";
  #state: State = "ended";
  /** Bytes of a head or a chunk's line that are not complete yet. */
  #kept: Buffer | null = null;
  /** Of the body or the chunk; Infinity where the connection's end ends it. */
  #left = 0;
  #interim = 0;
  #trailerBytes = 0;
  /** Whether any byte of this answer has come. */
  hasBegun = false;

  constructor(events: ResponseEvents, knownLines: HeaderFieldCache) {
    this.#events = events;
    this.#knownLines = knownLines;
  }

  begin(method: string): void {
    this.#method = method;
    this.#state = "head";
    this.#kept = null;
    this.#interim = 0;
    this.#trailerBytes = 0;
    this.hasBegun = false;
  }

  get isEnded(): boolean {
    return this.#state === "ended";
  }

  /** Takes what came; returns whether there was more than this answer. */
  feed(chunk: Buffer): boolean {
    this.hasBegun = true;
    let at = 0;
    while (at < chunk.length) {
      if (this.#state === "ended") return true;
      at = this.#step(chunk, at);
    }
    return false;
  }

  /** The connection ended in good order; returns whether the answer was whole. */
  feedEnd(): boolean {
    if (this.#state === "body" && this.#left === Infinity) this.#end();
    return this.#state === "ended";
  }

  /** Reads on at `at`; returns how far it came. */
  #step(bytes: Buffer, at: number): number {
    if (this.#state === "head") return this.#readHead(bytes, at);
    if (this.#state === "body" || this.#state === "chunk") return this.#readBody(bytes, at);
    const past = this.#readPlainLine(bytes, at);
    return past === at ? this.#readLine(bytes, at) : past;
  }

  /**
   * The lines around a chunk as nearly all of them are, in one piece and without extensions, read where they stand: an
   * event of a stream has two of them. Returns `at` where the line is another kind of line.
   */
  #readPlainLine(bytes: Buffer, at: number): number {
    if (this.#kept !== null || this.#state === "trailers") return at;
    let size = 0;
    let end = at;
    if (this.#state === "chunk_line") {
      for (; end - at < MAX_SIZE_DIGITS; end++) {
        const digit = hexDigit(bytes[end]);
        if (digit < 0) break;
        size = size * 16 + digit;
      }
      if (end === at) return at;
    }
    if (bytes[end] !== CR || bytes[end + 1] !== LF) return at;
    if (this.#state === "chunk_end") this.#state = "chunk_line";
    else this.#beginChunk(size);
    return end + 2;
  }

  #readLine(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(LF, at);
    const line = this.#completeLine(bytes.subarray(at, end < 0 ? bytes.length : end), end >= 0);
    if (line === null) return bytes.length;
    if (this.#state === "chunk_line") this.#beginChunk(sizeIn(line));
    else if (this.#state === "chunk_end") this.#endChunk(line);
    else this.#readTrailer(line);
    return end + 1;
  }

  #readHead(bytes: Buffer, at: number): number {
    const known = this.#kept;
    const came = at === 0 ? bytes : bytes.subarray(at);
    const all = known === null ? came : Buffer.concat([known, came]);
    const end = all.indexOf(HEAD_END, known === null ? 0 : Math.max(0, known.length - 3));
    if (end > MAX_HEAD_BYTES || (end < 0 && all.length > MAX_HEAD_BYTES))
      throw new MalformedResponse("its head is too long");
    if (end < 0) {
      this.#kept = all;
      return bytes.length;
    }
    this.#kept = null;
    const head = parseHead(all.toString("latin1", 0, end), this.#method, this.#knownLines);
    if (head.status >= 200) this.#beginBody(head);
    else if (head.status === 101 || ++this.#interim > MAX_INTERIM)
      throw new MalformedResponse("it is an answer to something else");
    return at + end + HEAD_END.length - (known?.length ?? 0);
  }

  #beginBody(head: ResponseHead): void {
    const { framing } = head;
    this.#left = framing === "until_close" ? Infinity : framing === "chunked" ? 0 : framing;
    this.#state = framing === "chunked" ? "chunk_line" : "body";
    this.#events.onHead(head);
    if (framing === 0) this.#end();
  }

  #readBody(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    this.#events.onBody(partOf(bytes, at, end));
    if (this.#left === 0) {
      if (this.#state === "chunk") this.#state = "chunk_end";
      else this.#end();
    }
    return end;
  }

  #beginChunk(size: number): void {
    this.#left = size;
    this.#state = size === 0 ? "trailers" : "chunk";
  }

  #endChunk(line: string): void {
    if (line !== "\r") throw new MalformedResponse("a chunk is longer than it said");
    this.#state = "chunk_line";
  }

  #readTrailer(line: string): void {
    this.#trailerBytes += line.length;
    if (this.#trailerBytes > MAX_TRAILER_BYTES) throw new MalformedResponse("its trailers are too long");
    if (line === "\r" || line === "") this.#end();
  }

  /** The line that `part` ends, or null where more of it is to come. */
  #completeLine(part: Buffer, isEnd: boolean): string | null {
    const known = this.#kept;
    if ((known?.length ?? 0) + part.length > MAX_LINE_BYTES)
      throw new MalformedResponse("a line is too long");
    const line = known === null ? part : Buffer.concat([known, part]);
    this.#kept = isEnd ? null : line;
    return isEnd ? line.toString("latin1") : null;
  }

  #end(): void {
    this.#state = "ended";
    this.#events.onEnd();
  }
}

/** Up to this many bytes a copy costs less than a view: the runtime has to move small bytes before it can share them. */
const COPIED_BYTES = 1000;
// A Buffer's own method of that name makes views.
const { slice } = Uint8Array.prototype as {
  slice: (this: Uint8Array, from: number, to: number) => Uint8Array;
};

function partOf(bytes: Buffer, from: number, to: number): Uint8Array {
  if (from === 0 && to === bytes.length) return bytes;
  return to - from <= COPIED_BYTES ? slice.call(bytes, from, to) : bytes.subarray(from, to);
}

function sizeIn(line: string): number {
  const [, digits] = CHUNK_SIZE.exec(line) ?? [];
  if (digits === undefined) throw new MalformedResponse("the size of a chunk is not a number");
  return Number.parseInt(digits, 16);
}

/** The value of a hexadecimal digit, -1 for any other byte and for none. */
function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
