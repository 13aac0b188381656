// Reads HTTP/1.1 answers from the bytes of a connection, however they are cut: interim ones are skipped, the body is
// told as views of what came, without copying.
import { MalformedAnswer, parseHead, type AnswerHead } from "./answer-head.ts";

export interface AnswerEvents {
  onHead(head: AnswerHead): void;
  onBody(bytes: Uint8Array): void;
  onEnd(): void;
}

const MAX_HEAD_BYTES = 64 * 1024;
const MAX_INTERIM = 32;
/** Of a chunk's size with its extensions, or of one trailer. */
const MAX_LINE_BYTES = 8 * 1024;
const MAX_TRAILER_BYTES = 16 * 1024;
const HEAD_END = Buffer.from("\r\n\r\n");
const LF = 0x0a;
const CHUNK_SIZE = /^([0-9a-fA-F]{1,12})[ \t]*(?:;.*)?\r?$/;

type State = "head" | "body" | "chunk_line" | "chunk" | "chunk_end" | "trailers" | "ended";

/** One answer: `begin`, then `feed` until `isEnded`. A malformed one throws MalformedAnswer. */
export class AnswerParser {
  readonly #events: AnswerEvents;
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

  constructor(events: AnswerEvents) {
    this.#events = events;
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
    let rest: Buffer | null = chunk;
    while (rest !== null && rest.length > 0) {
      if (this.#state === "ended") return true;
      rest = this.#step(rest);
    }
    return false;
  }

  /** The connection ended in good order; returns whether the answer was whole. */
  feedEnd(): boolean {
    if (this.#state === "body" && this.#left === Infinity) this.#end();
    return this.#state === "ended";
  }

  #step(bytes: Buffer): Buffer | null {
    if (this.#state === "head") return this.#readHead(bytes);
    if (this.#state === "body" || this.#state === "chunk") return this.#readBody(bytes);
    const end = bytes.indexOf(LF);
    const line = this.#completeLine(end < 0 ? bytes : bytes.subarray(0, end), end >= 0);
    if (line === null) return null;
    if (this.#state === "chunk_line") this.#beginChunk(line);
    else if (this.#state === "chunk_end") this.#endChunk(line);
    else this.#readTrailer(line);
    return bytes.subarray(end + 1);
  }

  #readHead(bytes: Buffer): Buffer | null {
    const known = this.#kept;
    const all = known === null ? bytes : Buffer.concat([known, bytes]);
    const end = all.indexOf(HEAD_END, known === null ? 0 : Math.max(0, known.length - 3));
    if (end > MAX_HEAD_BYTES || (end < 0 && all.length > MAX_HEAD_BYTES))
      throw new MalformedAnswer("its head is too long");
    if (end < 0) {
      this.#kept = all;
      return null;
    }
    this.#kept = null;
    const head = parseHead(all.toString("latin1", 0, end), this.#method);
    const rest = all.subarray(end + 4);
    if (head.status >= 200) this.#beginBody(head);
    else if (head.status === 101 || ++this.#interim > MAX_INTERIM)
      throw new MalformedAnswer("it is an answer to something else");
    return rest;
  }

  #beginBody(head: AnswerHead): void {
    const { framing } = head;
    this.#left = framing === "until_close" ? Infinity : framing === "chunked" ? 0 : framing;
    this.#state = framing === "chunked" ? "chunk_line" : "body";
    this.#events.onHead(head);
    if (framing === 0) this.#end();
  }

  #readBody(bytes: Buffer): Buffer | null {
    const isAll = bytes.length <= this.#left;
    const part = isAll ? bytes : bytes.subarray(0, this.#left);
    this.#left -= part.length;
    this.#events.onBody(part);
    if (this.#left === 0) {
      if (this.#state === "chunk") this.#state = "chunk_end";
      else this.#end();
    }
    return isAll ? null : bytes.subarray(part.length);
  }

  #beginChunk(line: string): void {
    const [, digits] = CHUNK_SIZE.exec(line) ?? [];
    if (digits === undefined) throw new MalformedAnswer("the size of a chunk is not a number");
    this.#left = Number.parseInt(digits, 16);
    this.#state = this.#left === 0 ? "trailers" : "chunk";
  }

  #endChunk(line: string): void {
    if (line !== "\r") throw new MalformedAnswer("a chunk is longer than it said");
    this.#state = "chunk_line";
  }

  #readTrailer(line: string): void {
    this.#trailerBytes += line.length;
    if (this.#trailerBytes > MAX_TRAILER_BYTES) throw new MalformedAnswer("its trailers are too long");
    if (line === "\r" || line === "") this.#end();
  }

  /** The line that `part` ends, or null where more of it is to come. */
  #completeLine(part: Buffer, isEnd: boolean): string | null {
    const known = this.#kept;
    if ((known?.length ?? 0) + part.length > MAX_LINE_BYTES) throw new MalformedAnswer("a line is too long");
    const line = known === null ? part : Buffer.concat([known, part]);
    this.#kept = isEnd ? null : line;
    return isEnd ? line.toString("latin1") : null;
  }

  #end(): void {
    this.#state = "ended";
    this.#events.onEnd();
  }
}
