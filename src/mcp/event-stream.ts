// Event streams of MCP servers: like those of providers, with the `id` and `retry` fields, by which a client resumes a stream that
// was closed.
import { hasByteOrderMark, indexOfByte } from "../base/byte-search.ts";

const MAX_EVENT_ID = 1024;

/** JSON that is written with line breaks has a line per value. An event with more lines is no message of a server that works. */
const MAX_LINES = 50_000;

/** Bytes of a line of spaces. A longer one is read as JSON, which it is not. */
const MAX_BLANK = 16;

export interface McpEvent {
  /** Null if the event has none. */
  readonly id: string | null;
  /** Milliseconds to wait before a reconnect; null if the event has none. */
  readonly retry: number | null;
  /** The text in UTF-8. Empty for an event that only sets the id or the time to wait, and for one that is no message. */
  readonly data: Uint8Array;
}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const TAB = 0x09;
const LINE_BREAK = Buffer.from("\n");
const MESSAGE_TYPE = Buffer.from("message");
const NO_DATA = new Uint8Array(0);

/** Splits a stream into events. Keeps the bytes of at most one incomplete event, up to `maxEventBytes`. */
export class McpEventParser {
  readonly #maxEventBytes: number;
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #lines = 0;
  /** Whether the pending bytes end with a line break, for a blank line that is split over two reads. */
  #endsLine = false;
  #afterReturn = false;
  #isFirst = true;

  constructor(maxEventBytes: number) {
    this.#maxEventBytes = maxEventBytes;
  }

  /** The size of the incomplete event. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Throws an Error if an event is too large, or has too many lines. */
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
        if (++this.#lines > MAX_LINES)
          throw new Error(`an event of the stream has more than ${MAX_LINES} lines`);
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
    this.#lines = 0;
    const start = this.#isFirst && hasByteOrderMark(block) ? 3 : 0;
    this.#isFirst = false;
    let id: string | null = null;
    let retry: number | null = null;
    let isMessage = true;
    const data: Uint8Array[] = [];
    for (const { name, value } of fieldsOf(block, start)) {
      if (name === "data") data.push(...(data.length === 0 ? [value] : [LINE_BREAK, value]));
      else if (name === "id") id = eventIdOf(value) ?? id;
      else if (name === "event") isMessage = isMessageType(value);
      else retry = retryOf(value) ?? retry;
    }
    const hasMessage = isMessage && !data.every(isBlank);
    if (!hasMessage && id === null && retry === null) return null;
    const [only = NO_DATA] = data;
    return { id, retry, data: hasMessage ? (data.length === 1 ? only : Buffer.concat(data)) : NO_DATA };
  }
}

interface EventField {
  readonly name: (typeof FIELDS)[number];
  readonly value: Uint8Array;
}

/** Visits the fields of an event that are read. Bytes are not decoded: a field may be megabytes long. */
function* fieldsOf(block: Uint8Array, from: number): Generator<EventField, undefined> {
  // Each search is repeated only after its result has been passed, so that each byte is read once per search.
  let lf = indexOfByte(block, LF, from);
  let cr = indexOfByte(block, CR, from);
  for (let start = from; start < block.length;) {
    const end = Math.min(lf < 0 ? block.length : lf, cr < 0 ? block.length : cr);
    const name = FIELDS.find((field) => startsField(block, start, end, field));
    if (name !== undefined) {
      let value = Math.min(start + name.length + 1, end);
      if (value < end && block[value] === SPACE) value++;
      yield { name, value: block.subarray(value, end) };
    }
    start = end + 1;
    if (end === lf) lf = indexOfByte(block, LF, start);
    if (end === cr) cr = indexOfByte(block, CR, start);
  }
}

const FIELDS = ["data", "id", "retry", "event"] as const;

/** Clients read events without a type, and those with the type of messages. Servers send others to keep a connection open. */
function isMessageType(type: Uint8Array): boolean {
  return type.byteLength === 0 || MESSAGE_TYPE.equals(type);
}

function isBlank(data: Uint8Array): boolean {
  return data.byteLength <= MAX_BLANK && data.every((byte) => byte === SPACE || byte === TAB || byte === LF);
}

/** Whether the line is a field of this name, with or without a value. */
function startsField(block: Uint8Array, start: number, end: number, name: string): boolean {
  const after = start + name.length;
  if (after > end || (after < end && block[after] !== COLON)) return false;
  for (let index = 0; index < name.length; index++)
    if (block[start + index] !== name.charCodeAt(index)) return false;
  return true;
}

function eventIdOf(value: Uint8Array): string | null {
  if (value.byteLength > MAX_EVENT_ID) return null;
  const id = Buffer.from(value).toString();
  return id.includes("\0") ? null : id;
}

function retryOf(value: Uint8Array): number | null {
  const text = value.byteLength > 9 ? "" : Buffer.from(value).toString();
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}
