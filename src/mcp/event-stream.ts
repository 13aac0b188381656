// Event streams of MCP servers and to MCP clients: like those of providers, with the `id` and `retry` fields, by which a
// client resumes a stream that was closed.
import { SseParser } from "../formats/sse.ts";

const MAX_EVENT_ID = 1024;

export interface McpEvent {
  /** Null if the event has none. */
  readonly id: string | null;
  /** Milliseconds to wait before a reconnect; null if the event has none. */
  readonly retry: number | null;
  /** Empty for an event that only sets the id or the time to wait. */
  readonly data: string;
}

const LF = 0x0a;
const CR = 0x0d;

/** Splits a stream into events. Keeps the bytes of at most one incomplete event, up to `maxEventBytes`. */
export class McpEventParser {
  readonly #maxEventBytes: number;
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  /** How many line breaks end the pending bytes, for a blank line that is split over two reads. */
  #endsLine = false;
  #afterReturn = false;

  constructor(maxEventBytes: number) {
    this.#maxEventBytes = maxEventBytes;
  }

  /** Throws an Error if an event is too large. */
  push(bytes: Uint8Array): McpEvent[] {
    const events: McpEvent[] = [];
    let start = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte !== LF && byte !== CR) {
        this.#endsLine = false;
        this.#afterReturn = false;
        continue;
      }
      // CR LF is one line break.
      if (byte === LF && this.#afterReturn) {
        this.#afterReturn = false;
        continue;
      }
      this.#afterReturn = byte === CR;
      if (!this.#endsLine) {
        this.#endsLine = true;
        continue;
      }
      this.#keep(bytes.subarray(start, at + 1));
      start = at + 1;
      const event = this.#takeEvent();
      if (event !== null) events.push(event);
    }
    if (start < bytes.length) this.#keep(bytes.slice(start));
    return events;
  }

  #keep(bytes: Uint8Array): void {
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes > this.#maxEventBytes)
      throw new Error(`an event of the stream is larger than ${this.#maxEventBytes} bytes`);
    this.#pending.push(bytes);
  }

  #takeEvent(): McpEvent | null {
    const block = Buffer.concat(this.#pending);
    this.#pending = [];
    this.#pendingBytes = 0;
    let id: string | null = null;
    let retry: number | null = null;
    for (const line of block.toString("utf8").split(/\r\n|\r|\n/)) {
      const [, name, value = ""] = /^(id|retry)(?:: ?(.*))?$/s.exec(line) ?? [];
      if (name === "id" && value.length <= MAX_EVENT_ID && !value.includes("\0")) id = value;
      else if (name === "retry" && /^\d{1,9}$/.test(value)) retry = Number(value);
    }
    // The grammar of data lines is that of every event stream.
    const [event] = new SseParser(this.#maxEventBytes).push(block);
    if (event === undefined && id === null && retry === null) return null;
    return { id, retry, data: event?.data ?? "" };
  }
}

/** `data` is JSON or empty. Line breaks of JSON are between its tokens, and would end the line. */
export function formatEvent(data: string, id: string | null = null, retry: number | null = null): string {
  let text = id === null ? "" : `id: ${id.replace(/[\r\n\0]/g, "")}\n`;
  if (retry !== null) text += `retry: ${retry}\n`;
  if (data !== "") text += `event: message\n`;
  return `${text}data: ${data.replaceAll(/[\r\n]+/g, " ")}\n\n`;
}
