// One piece of a response that is sent as a whole: an event of a stream, or a body that is no stream. Knows the texts in it, and writes
// replaced ones back without changing another byte.
import { hasByteOrderMark } from "../../base/byte-search.ts";
import { GatehouseError } from "../../base/errors.ts";
import { applySplices, JsonDocument, type JsonNode, type Splice } from "../../base/json-nodes.ts";
import type { EventTexts, TextChannel, TextReader, TextSink } from "../../formats/text-channels.ts";

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const DATA = Buffer.from("data");
const DONE = Buffer.from("[DONE]");

/** A text in a unit. */
export class TextSlot {
  readonly found: FoundText;
  /** The text as the plugins so far have left it. */
  text: string;

  constructor(found: FoundText) {
    this.found = found;
    this.text = found.text;
  }

  get isChanged(): boolean {
    return this.text !== this.found.text;
  }
}

/** A text as it was received, and where its JSON is located. */
export interface FoundText {
  readonly start: number;
  readonly end: number;
  /** The JSON is the text; otherwise it is a string. */
  readonly isRaw: boolean;
  readonly text: string;
}

/** Returns JSON in which other texts are in the place of those that were found. Throws if JSON is replaced by something else. */
export function replaceTexts(json: Uint8Array, replaced: readonly FoundText[]): Uint8Array {
  const splices = replaced.map(({ start, end, isRaw, text }): Splice => {
    if (isRaw) checkJson(text);
    return { start, end, bytes: Buffer.from(isRaw ? text : JSON.stringify(text)) };
  });
  return applySplices(
    json,
    splices.sort((a, b) => a.start - b.start),
  );
}

function checkJson(text: string): void {
  try {
    JSON.parse(text);
  } catch {
    throw new GatehouseError(
      "plugin_failed",
      "A plugin replaced the arguments of a tool by text that is not JSON.",
    );
  }
}

/** What a unit means for the channels, in order. Texts are in a `TextSlot`, or as they were found. */
type MarkWith<Slot> =
  | {
      readonly type: "text" | "repeat";
      readonly key: string;
      readonly channel: TextChannel;
      readonly slot: Slot;
    }
  | { readonly type: "open"; readonly key: string; readonly channel: TextChannel }
  | { readonly type: "end"; readonly prefix: string };

type Mark = MarkWith<TextSlot>;
export type FoundMark = MarkWith<FoundText>;

const NO_MARKS: readonly Mark[] = [];

interface Marks {
  readonly marks: readonly Mark[];
  readonly sequence: number | null;
}

/** Chat streams end with an event that is not JSON. */
const ALL_ENDED: Marks = { marks: [{ type: "end", prefix: "" }], sequence: null };

export class TextUnit {
  readonly #bytes: Uint8Array;
  /** Where the JSON with the slots is located in the bytes; 0 if there is none, or in several lines. */
  readonly #dataStart: number;
  /** The JSON of an event with several data lines; null if it is located in the bytes. */
  readonly #joined: Uint8Array | null;
  readonly marks: readonly Mark[];
  /** The number of the event; null in formats that do not number events. */
  readonly sequence: number | null;
  /** The unit has no fields, only comments: its order does not matter. */
  readonly isComment: boolean;

  private constructor(
    bytes: Uint8Array,
    found: { dataStart?: number; joined?: Uint8Array | null; collected?: Marks; isComment?: boolean },
  ) {
    this.#bytes = bytes;
    this.#dataStart = found.dataStart ?? 0;
    this.#joined = found.joined ?? null;
    this.marks = found.collected?.marks ?? NO_MARKS;
    this.sequence = found.collected?.sequence ?? null;
    this.isComment = found.isComment ?? false;
  }

  /** Bytes that are passed on unchanged. */
  static opaque(bytes: Uint8Array): TextUnit {
    return new TextUnit(bytes, {});
  }

  /** `found` are the texts of a body; null if it is not JSON. */
  static ofBody(bytes: Uint8Array, found: readonly FoundMark[] | null): TextUnit {
    if (found === null) return TextUnit.opaque(bytes);
    const marks = found.map((mark) => ("slot" in mark ? { ...mark, slot: new TextSlot(mark.slot) } : mark));
    return new TextUnit(bytes, { collected: { marks, sequence: null } });
  }

  /** `bytes` is an event, with the blank line at its end if it is not the last one. */
  static ofEvent(bytes: Uint8Array, texts: EventTexts): TextUnit {
    const lines = dataLines(bytes);
    const [first] = lines.data;
    if (first === undefined) return new TextUnit(bytes, { isComment: !lines.hasFields });
    const joined = lines.data.length === 1 ? null : joinLines(bytes, lines.data);
    const json = joined ?? bytes.subarray(first.start, first.end);
    const event = JsonDocument.parse(json);
    if (event === null) {
      return new TextUnit(bytes, isDone(json) ? { collected: ALL_ENDED } : {});
    }
    const collected = new Collected(event, (found) => new TextSlot(found));
    texts.read(event, collected);
    const dataStart = joined === null ? first.start : 0;
    return new TextUnit(bytes, { dataStart, joined, collected });
  }

  get byteLength(): number {
    return this.#bytes.byteLength;
  }

  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /** The texts that have changed, located in the bytes unless the unit is an event with several data lines. */
  get replaced(): FoundText[] {
    const replaced: FoundText[] = [];
    for (const mark of this.marks) {
      if (!("slot" in mark) || !mark.slot.isChanged) continue;
      const { found, text } = mark.slot;
      const [start, end] = [found.start + this.#dataStart, found.end + this.#dataStart];
      replaced.push({ start, end, isRaw: found.isRaw, text });
    }
    return replaced;
  }

  /** Returns the bytes to send: those that were received if no text has changed. */
  encode(): Uint8Array {
    const { replaced } = this;
    if (replaced.length === 0) return this.#bytes;
    if (this.#joined === null) return replaceTexts(this.#bytes, replaced);
    return withData(this.#bytes, replaceTexts(this.#joined, replaced));
  }
}

/** More take the event loop too long, even those that a worker thread has found. */
const MAX_TEXTS = 65_536;

/** Finds the texts of a body; null if it is not JSON. */
export function findTexts(bytes: Uint8Array, reader: TextReader): readonly FoundMark[] | null {
  const body = JsonDocument.parse(bytes);
  if (body === null) return null;
  let count = 0;
  const collected = new Collected(body, (found) => {
    if (++count > MAX_TEXTS)
      throw new GatehouseError("upstream_bad_answer", `The response has more than ${MAX_TEXTS} texts.`);
    return found;
  });
  reader.readWhole(body, collected);
  collected.end("");
  return collected.marks;
}

class Collected<Slot> implements TextSink {
  readonly marks: MarkWith<Slot>[] = [];
  sequence: number | null = null;
  readonly #json: JsonDocument;
  readonly #toSlot: (found: FoundText) => Slot;

  constructor(json: JsonDocument, toSlot: (found: FoundText) => Slot) {
    this.#json = json;
    this.#toSlot = toSlot;
  }

  text(key: string, channel: TextChannel, node: JsonNode, isRaw = false): void {
    this.#add("text", key, channel, node, isRaw);
  }
  repeat(key: string, channel: TextChannel, node: JsonNode, isRaw = false): void {
    this.#add("repeat", key, channel, node, isRaw);
  }
  open(key: string, channel: TextChannel): void {
    this.marks.push({ type: "open", key, channel });
  }
  end(prefix: string): void {
    this.marks.push({ type: "end", prefix });
  }
  number(sequence: number): void {
    this.sequence = sequence;
  }

  #add(type: "text" | "repeat", key: string, channel: TextChannel, node: JsonNode, isRaw: boolean): void {
    const text = isRaw ? this.#json.source(node) : this.#json.text(node);
    if (text === null) return;
    const slot = this.#toSlot({ start: node.start, end: node.end, isRaw, text });
    this.marks.push({ type, key, channel, slot });
  }
}

interface Line {
  readonly start: number;
  readonly end: number;
}

/** Returns where the values of the data lines of an event are located, without the space after the colon. */
function dataLines(bytes: Uint8Array): { data: Line[]; hasFields: boolean } {
  const data: Line[] = [];
  let hasFields = false;
  // A byte order mark at the start of the stream.
  let at = hasByteOrderMark(bytes) ? 3 : 0;
  while (at < bytes.length) {
    let end = at;
    while (end < bytes.length && bytes[end] !== LF && bytes[end] !== CR) end++;
    if (end > at && bytes[at] !== COLON) {
      hasFields = true;
      const start = dataStart(bytes, at, end);
      if (start >= 0) data.push({ start, end });
    }
    at = end + (bytes[end] === CR && bytes[end + 1] === LF ? 2 : 1);
  }
  return { data, hasFields };
}

/** Returns where the value of a data line begins; -1 for a line of another field. */
function dataStart(bytes: Uint8Array, start: number, end: number): number {
  for (const [index, byte] of DATA.entries()) if (bytes[start + index] !== byte) return -1;
  const colon = start + DATA.length;
  if (colon === end) return end;
  if (bytes[colon] !== COLON) return -1;
  return bytes[colon + 1] === SPACE ? colon + 2 : colon + 1;
}

function joinLines(bytes: Uint8Array, lines: readonly Line[]): Uint8Array {
  return Buffer.concat(lines.flatMap(({ start, end }) => [bytes.subarray(start, end), Uint8Array.of(LF)]));
}

/** Returns the event with its data in one line: line breaks in JSON are between values. */
function withData(bytes: Uint8Array, json: Uint8Array): Uint8Array {
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

function isDone(json: Uint8Array): boolean {
  return json.byteLength === DONE.byteLength && DONE.equals(json);
}
