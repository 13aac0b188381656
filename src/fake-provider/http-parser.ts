// An incremental HTTP/1.1 request parser (RFC 9112): feed() adds bytes, next() returns request heads and bodies.
// Pipelined bytes stay in the buffer until the caller asks for the next request.
import type { HeaderPair } from "./behavior.ts";

export interface RequestHead {
  method: string;
  target: string;
  version: string;
  headers: HeaderPair[];
}

export type ParserEvent =
  | { kind: "head"; head: RequestHead }
  | { kind: "body"; body: Uint8Array }
  | { kind: "error"; status: number; message: string };

const MAX_HEAD_BYTES = 1 << 20;
const MAX_BODY_BYTES = 1 << 28;
const MAX_SIZE_LINE_BYTES = 4096;
const EMPTY = Buffer.alloc(0);
const REQUEST_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\S+) (HTTP\/1\.[01])$/;

class MalformedRequest extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

type State = "head" | "length-body" | "chunk-size" | "chunk-data" | "chunk-end" | "trailers" | "broken";

export class RequestParser {
  #state: State = "head";
  #input: Buffer = EMPTY;
  #pieces: Buffer[] = [];
  #bodyBytes = 0;
  #remaining = 0;

  /** Number of bytes received that belong to no returned event yet. */
  get waiting(): number {
    return this.#input.length;
  }

  /** Returns and forgets the bytes that belong to no returned event: after an upgrade they are not HTTP. */
  takeWaiting(): Buffer {
    const waiting = this.#input;
    this.#input = EMPTY;
    return waiting;
  }

  feed(bytes: Buffer): void {
    this.#input = this.#input.length === 0 ? bytes : Buffer.concat([this.#input, bytes]);
  }

  /** Returns the next event, or null if it needs more bytes. */
  next(): ParserEvent | null {
    try {
      return this.#state === "head" ? this.#readHead() : this.#readBody();
    } catch (error) {
      if (!(error instanceof MalformedRequest)) throw error;
      this.#state = "broken";
      this.#input = EMPTY;
      this.#pieces = [];
      return { kind: "error", status: error.status, message: error.message };
    }
  }

  #readHead(): ParserEvent | null {
    // RFC 9112 2.2: a server ignores empty lines before the request line.
    while (this.#input[0] === 13 && this.#input[1] === 10) this.#input = this.#input.subarray(2);
    const end = this.#input.indexOf("\r\n\r\n");
    if (end > MAX_HEAD_BYTES || (end === -1 && this.#input.length > MAX_HEAD_BYTES)) {
      throw new MalformedRequest(431, "The request head is too large.");
    }
    if (end === -1) return null;
    const head = parseHead(this.#input.toString("latin1", 0, end));
    this.#input = this.#input.subarray(end + 4);
    this.#expectBody(head.headers);
    return { kind: "head", head };
  }

  #expectBody(headers: HeaderPair[]): void {
    let length: string | null = null;
    let chunked = false;
    for (const [name, value] of headers) {
      const lowered = name.toLowerCase();
      if (lowered === "content-length") {
        if (!/^\d+$/.test(value) || (length !== null && length !== value)) {
          throw new MalformedRequest(400, "Content-Length is not a single number.");
        }
        length = value;
      } else if (lowered === "transfer-encoding") {
        if (value.toLowerCase() !== "chunked")
          throw new MalformedRequest(501, "The only supported transfer encoding is chunked.");
        chunked = true;
      }
    }
    // Both fields together enable request smuggling (RFC 9112 6.1). Reject them, so that tests notice when they are forwarded.
    if (chunked && length !== null)
      throw new MalformedRequest(400, "The request has both Content-Length and Transfer-Encoding.");
    this.#bodyBytes = 0;
    this.#remaining = Number(length ?? 0);
    if (this.#remaining > MAX_BODY_BYTES) throw new MalformedRequest(413, "The request body is too large.");
    this.#state = chunked ? "chunk-size" : "length-body";
  }

  #readBody(): ParserEvent | null {
    for (;;) {
      switch (this.#state) {
        case "length-body":
          return this.#takeData() ? this.#finishBody() : null;
        case "chunk-size": {
          const line = this.#takeLine();
          if (line === null) return null;
          this.#remaining = parseChunkSize(line);
          this.#state = this.#remaining === 0 ? "trailers" : "chunk-data";
          break;
        }
        case "chunk-data":
          if (!this.#takeData()) return null;
          this.#state = "chunk-end";
          break;
        case "chunk-end": {
          const line = this.#takeLine();
          if (line === null) return null;
          if (line !== "") throw new MalformedRequest(400, "A chunk is longer than its size.");
          this.#state = "chunk-size";
          break;
        }
        case "trailers": {
          const line = this.#takeLine();
          if (line === null) return null;
          if (line === "") return this.#finishBody();
          break;
        }
        default:
          this.#input = EMPTY;
          return null;
      }
    }
  }

  /** Moves received bytes of the expected data into the body; returns true once all of it has arrived. */
  #takeData(): boolean {
    const taken = Math.min(this.#remaining, this.#input.length);
    if (taken > 0) {
      this.#bodyBytes += taken;
      if (this.#bodyBytes > MAX_BODY_BYTES) throw new MalformedRequest(413, "The request body is too large.");
      this.#pieces.push(this.#input.subarray(0, taken));
      this.#input = taken === this.#input.length ? EMPTY : this.#input.subarray(taken);
      this.#remaining -= taken;
    }
    return this.#remaining === 0;
  }

  #takeLine(): string | null {
    const end = this.#input.indexOf("\r\n");
    if (end > MAX_SIZE_LINE_BYTES || (end === -1 && this.#input.length > MAX_SIZE_LINE_BYTES)) {
      throw new MalformedRequest(400, "A line of the chunked body is too long.");
    }
    if (end === -1) return null;
    const line = this.#input.toString("latin1", 0, end);
    this.#input = this.#input.subarray(end + 2);
    return line;
  }

  #finishBody(): ParserEvent {
    const [first = EMPTY] = this.#pieces;
    const body = this.#pieces.length < 2 ? first : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#state = "head";
    return { kind: "body", body };
  }
}

function parseHead(text: string): RequestHead {
  const lines = text.split("\r\n");
  const requestLine = REQUEST_LINE.exec(lines[0] ?? "");
  if (requestLine === null) throw new MalformedRequest(400, "The request line is malformed.");
  const headers: HeaderPair[] = [];
  for (let index = 1; index < lines.length; index++) {
    const line = lines[index] ?? "";
    const colon = line.indexOf(":");
    // White space before the colon and folded lines enable request smuggling too (RFC 9112 5.1, 5.2).
    if (colon < 1 || /[\s\0]/.test(line.slice(0, colon)) || /[\r\n\0]/.test(line)) {
      throw new MalformedRequest(400, "A header line is malformed.");
    }
    headers.push([line.slice(0, colon), line.slice(colon + 1).trim()]);
  }
  return {
    method: requestLine[1] ?? "",
    target: requestLine[2] ?? "",
    version: requestLine[3] ?? "",
    headers,
  };
}

function parseChunkSize(line: string): number {
  const size = /^([0-9a-fA-F]{1,8})\s*(;.*)?$/.exec(line)?.[1];
  if (size === undefined) throw new MalformedRequest(400, "A chunk size is not a number.");
  return Number.parseInt(size, 16);
}
