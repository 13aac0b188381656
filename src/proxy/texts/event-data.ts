// The data lines of an event: where they are located, and how they are written again.
import { MAX_EVENT_ITEMS } from "../../base/bounded-json.ts";
import { copyBytes, hasByteOrderMark, utf8Between } from "../../base/byte-search.ts";
import { GatehouseError } from "../../base/errors.ts";

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const DATA = Buffer.from("data");
const TAB = 0x09;
const DONE = "[DONE]";
const MAX_DONE_BYTES = 64;

interface Line {
  readonly start: number;
  readonly end: number;
}

interface EventLines {
  readonly data: readonly Line[];
  readonly hasFields: boolean;
  /** Whether comments have text. */
  readonly hasComments: boolean;
  /** The name of the event; null if it has none. */
  readonly name: string | null;
}

/**
 * Returns where the values of the data lines of an event are located, without the space after the colon. Throws for a line of another field,
 * and for a field whose value is a text: clients that read lines, and not events, may read them.
 */
export function dataLines(bytes: Uint8Array): EventLines {
  const data: Line[] = [];
  let hasFields = false;
  let hasComments = false;
  let name: string | null = null;
  // A byte order mark at the start of the stream.
  let at = hasByteOrderMark(bytes) ? 3 : 0;
  while (at < bytes.length) {
    let end = at;
    while (end < bytes.length && bytes[end] !== LF && bytes[end] !== CR) end++;
    if (bytes[at] === COLON) hasComments ||= end > at + 1;
    else if (end > at) {
      hasFields = true;
      const start = dataStart(bytes, at, end);
      if (start >= 0) data.push({ start, end });
      else name = otherField(utf8Between(bytes, at, end)) ?? name;
      if (data.length > MAX_EVENT_ITEMS) throw tooManyLines();
    }
    at = end + (bytes[end] === CR && bytes[end + 1] === LF ? 2 : 1);
  }
  return { data, hasFields, hasComments, name };
}

const FIELD = /^(event|id|retry)(?::[ ]?([\w.:/+=~,@-]*))?$/;

/** Returns the name of the event; null for a line of another field. */
function otherField(line: string): string | null {
  const [, field, value = ""] = FIELD.exec(line) ?? [];
  if (field === undefined)
    throw new GatehouseError(
      "upstream_bad_answer",
      "The provider's stream has a line that is no field of an event. Check the target's format.",
    );
  return field === "event" && value !== "" ? value : null;
}

/** Returns where the value of a data line begins; -1 for a line of another field. */
function dataStart(bytes: Uint8Array, start: number, end: number): number {
  for (let at = 0; at < DATA.length; at++) if (bytes[start + at] !== DATA[at]) return -1;
  const colon = start + DATA.length;
  if (colon === end) return end;
  if (bytes[colon] !== COLON) return -1;
  return bytes[colon + 1] === SPACE ? colon + 2 : colon + 1;
}

/** Returns the values of the lines, each with a line feed. One copy: an event may have many lines. */
export function joinLines(bytes: Uint8Array, lines: readonly Line[]): Uint8Array {
  const joined = new Uint8Array(lines.reduce((length, { start, end }) => length + end - start + 1, 0));
  let at = 0;
  for (const { start, end } of lines) {
    copyBytes(bytes, joined, at, start, end);
    at += end - start;
    joined[at++] = LF;
  }
  return joined;
}

function tooManyLines(): GatehouseError {
  return new GatehouseError(
    "upstream_bad_answer",
    `The provider's response was rejected. An event has more than ${MAX_EVENT_ITEMS} data lines.`,
  );
}

/** Returns the event with empty comments. Guards do not read them, and some clients take further characters for the end of a line. */
export function withoutComments(bytes: Uint8Array): Uint8Array {
  const text = Buffer.from(bytes).toString("latin1");
  return Buffer.from(text.replaceAll(COMMENT, "$1:"), "latin1");
}

const COMMENT = /((?:^|[\r\n])(?:\u00ef\u00bb\u00bf)?):[^\r\n]+/g;

/** Returns the event with its data in one line: line breaks in JSON are between values. */
export function withData(bytes: Uint8Array, json: Uint8Array): Uint8Array {
  const text = Buffer.from(bytes).toString("latin1");
  const lines = text.split(/(?<=\r\n|\n|\r(?!\n))/);
  const first = lines.findIndex((line) => DATA_LINE.test(line));
  const lineEnd = /[\r\n]+$/.exec(lines[first] ?? "")?.[0] ?? "\n";
  const data = `data: ${Buffer.from(json)
    .toString("latin1")
    .replaceAll(/[\r\n]+/g, " ")
    .trim()}${lineEnd}`;
  const others = lines.map((line, at) => (at === first ? data : DATA_LINE.test(line) ? "" : line));
  return Buffer.from(others.join(""), "latin1");
}

const DATA_LINE = /^(?:\u00ef\u00bb\u00bf)?data(?::|[\r\n]|$)/;

export function isDone(json: Uint8Array): boolean {
  return json.byteLength <= MAX_DONE_BYTES && utf8Between(json, 0, json.byteLength).trim() === DONE;
}

export function isBlank(json: Uint8Array): boolean {
  return json.every((byte) => byte === SPACE || byte === TAB || byte === LF || byte === CR);
}
