// Sends bytes over a socket with as few system calls and copies as possible, and keeps what the kernel does not take.
import { COPY_START, copyOfLastText, ROOM_BYTES } from "../base/json-string-end.ts";
import type { LineWriter } from "./line-writer.ts";

/** Up to this size, headers and body are sent with one system call: copying them costs less than a second call. */
const SCRATCH_BYTES = 64 * 1024;
/** Shared by all sockets: `write` is synchronous, so the kernel has copied the bytes before it is used again. */
const scratchBuffer = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
const CRLF = Buffer.from("\r\n");

interface WritableSocket {
  /** Returns how many bytes the kernel took; negative if the socket is closed. */
  write(bytes: Uint8Array, offset?: number, length?: number): number;
}

/** Every function returns false if the socket is closed. */
export class SocketSender {
  readonly #socket: WritableSocket;
  /** What the kernel has not taken yet, in order. Not joined: the first one may be megabytes long. */
  #unsent: Uint8Array[] = [];

  constructor(socket: WritableSocket) {
    this.#socket = socket;
  }

  /** Whether bytes wait for the kernel. Then call `drain` when the socket is writable. */
  get hasUnsent(): boolean {
    return this.#unsent.length > 0;
  }

  /** Sends the first line and header fields of a message, one byte per character, and its body. */
  sendMessage(headers: string, body: Uint8Array | null): boolean {
    const length = headers.length + (body?.byteLength ?? 0);
    if (length > SCRATCH_BYTES || this.hasUnsent)
      return this.send(Buffer.from(headers, "latin1")) && (body === null || this.send(body));
    scratchBuffer.write(headers, 0, "latin1");
    if (body !== null) scratchBuffer.set(body, headers.length);
    return this.#sendScratch(length);
  }

  /** As `sendMessage` with the text of a writer: no string is created for it. The writer starts another text. */
  sendWritten(headers: LineWriter, body: Uint8Array | null): boolean {
    const bodyStart = headers.length;
    const length = bodyStart + (body?.byteLength ?? 0);
    const copy = body === null || this.hasUnsent ? null : copyOfLastText(body);
    if (body !== null && copy !== null && bodyStart <= ROOM_BYTES) return this.#sendCopy(headers, body, copy);
    if (length > SCRATCH_BYTES || this.hasUnsent) return this.sendMessage(headers.finish(), body);
    headers.finishIn(scratchBuffer, 0);
    if (body !== null) scratchBuffer.set(body, bodyStart);
    return this.#sendScratch(length);
  }

  /** Sends a chunk of a body with the transfer coding `chunked`, after `before`. */
  sendChunk(before: string, bytes: Uint8Array): boolean {
    const head = `${before}${bytes.byteLength.toString(16)}\r\n`;
    const length = head.length + bytes.byteLength + CRLF.length;
    if (length > SCRATCH_BYTES || this.hasUnsent)
      return this.send(Buffer.from(head, "latin1")) && this.send(bytes) && this.send(CRLF);
    scratchBuffer.write(head, 0, "latin1");
    scratchBuffer.set(bytes, head.length);
    scratchBuffer.set(CRLF, length - CRLF.length);
    return this.#sendScratch(length);
  }

  send(bytes: Uint8Array): boolean {
    if (this.hasUnsent) {
      this.#unsent.push(bytes);
      return true;
    }
    const written = this.#socket.write(bytes);
    if (written < 0) return false;
    if (written < bytes.byteLength) this.#unsent.push(bytes.subarray(written));
    return true;
  }

  /** Sends what is left. */
  drain(): boolean {
    const unsent = this.#unsent;
    this.#unsent = [];
    return unsent.every((bytes) => this.send(bytes));
  }

  /** Sends a body from a copy, which is in the cache of the CPU and has room for the headers. */
  #sendCopy(headers: LineWriter, body: Uint8Array, copy: Uint8Array): boolean {
    const headersLength = headers.length;
    const length = headersLength + body.byteLength;
    const start = COPY_START - headersLength;
    headers.finishIn(copy, start);
    const written = this.#socket.write(copy, start, length);
    if (written < 0) return false;
    // The next body overwrites the copy.
    if (written < headersLength)
      this.#unsent.push(Buffer.from(copy.subarray(start + written, start + length)));
    else if (written < length) this.#unsent.push(body.subarray(written - headersLength));
    return true;
  }

  #sendScratch(length: number): boolean {
    const written = this.#socket.write(scratchBuffer, 0, length);
    if (written < 0) return false;
    // The next message overwrites the scratch buffer, so the unsent part is copied.
    if (written < length) this.#unsent.push(Buffer.from(scratchBuffer.subarray(written, length)));
    return true;
  }
}
