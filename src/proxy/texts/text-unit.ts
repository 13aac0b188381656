// One piece of a response that is sent as a whole: an event of a stream, or a body that is no stream. Knows the texts in it, and writes
// replaced ones back without changing another byte.
import { MAX_EVENT_ITEMS } from "../../base/bounded-json.ts";
import { GatehouseError } from "../../base/errors.ts";
import { toError } from "../../base/to-error.ts";
import { JsonDocument, type JsonNode } from "../../base/json-nodes.ts";
import type { EventTexts, TextChannel, TextForm, TextReader, TextSink } from "../../formats/text-channels.ts";
import { dataLines, isDone, joinLines, withData } from "./event-data.ts";
import { readText, replaceTexts, type FoundText } from "./found-text.ts";

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

/** What a unit means for the channels, in order. Texts are in a `TextSlot`, or as they were found. */
type MarkWith<Slot> =
  | {
      readonly type: "text" | "repeat";
      readonly key: string;
      readonly channel: TextChannel;
      readonly slot: Slot;
    }
  | { readonly type: "open"; readonly key: string; readonly channel: TextChannel }
  | Probabilities
  | { readonly type: "end"; readonly prefix: string };

/** The tokens of the texts whose keys start with `prefix`, and the JSON that replaces them if a text was changed. */
interface Probabilities {
  readonly type: "probabilities";
  readonly prefix: string;
  readonly start: number;
  readonly end: number;
  readonly empty: string;
  /** Null in a whole body. */
  readonly tokens: string | null;
}

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
    const event = parsed(json, MAX_EVENT_ITEMS);
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
    let beside: ReadonlyMap<string, TextsBeside> | null = null;
    const replace = (start: number, end: number, form: TextForm, text: string) =>
      replaced.push({ start: start + this.#dataStart, end: end + this.#dataStart, form, text });
    for (const mark of this.marks) {
      if (mark.type === "probabilities") {
        if (mayShowOtherText(mark, (beside ??= textsByPrefix(this.marks)).get(mark.prefix)))
          replace(mark.start, mark.end, "json", mark.empty);
      } else if ("slot" in mark && mark.slot.isChanged) {
        const { found, text } = mark.slot;
        replace(found.start, found.end, found.form, text);
      }
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

/** The texts of the keys that start with a prefix. */
interface TextsBeside {
  isChanged: boolean;
  readonly texts: string[];
}

/** By prefix, up to each slash of a key. */
function textsByPrefix(marks: readonly Mark[]): ReadonlyMap<string, TextsBeside> {
  const byPrefix = new Map<string, TextsBeside>();
  for (const mark of marks) {
    if (!("slot" in mark)) continue;
    for (let end = mark.key.indexOf("/"); end >= 0; end = mark.key.indexOf("/", end + 1)) {
      const prefix = mark.key.slice(0, end + 1);
      const known = byPrefix.get(prefix) ?? { isChanged: false, texts: [] };
      byPrefix.set(prefix, known);
      known.isChanged ||= mark.slot.isChanged;
      known.texts.push(mark.slot.text);
    }
  }
  return byPrefix;
}

/** Tokens in an event may be those of a text in another event, which a plugin changes: they must be the text beside them. */
function mayShowOtherText({ tokens }: Probabilities, beside: TextsBeside | undefined): boolean {
  return beside?.isChanged === true || (tokens !== null && tokens !== (beside?.texts.join("") ?? ""));
}

/** Each value takes about 100 bytes of memory while texts are searched. */
const MAX_BODY_VALUES = 2_000_000;

/** Returns null if the text is not JSON. Text that is in too deep or too many values must not pass unread. */
function parsed(json: Uint8Array, maxValues: number): JsonDocument | null {
  try {
    return JsonDocument.parseBounded(json, maxValues);
  } catch (error) {
    throw new GatehouseError(
      "upstream_bad_answer",
      `The provider's response was rejected. ${toError(error).message}`,
    );
  }
}

/** More take the event loop too long, even those that a worker thread has found. */
const MAX_TEXTS = 65_536;

/** Finds the texts of a body; null if it is not JSON. */
export function findTexts(bytes: Uint8Array, reader: TextReader): readonly FoundMark[] | null {
  const body = parsed(bytes, MAX_BODY_VALUES);
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

  text(key: string, channel: TextChannel, node: JsonNode, form: TextForm = "string"): void {
    this.#add("text", key, channel, node, form);
  }
  repeat(key: string, channel: TextChannel, node: JsonNode, form: TextForm = "string"): void {
    this.#add("repeat", key, channel, node, form);
  }
  open(key: string, channel: TextChannel): void {
    this.marks.push({ type: "open", key, channel });
  }
  probabilities(prefix: string, { start, end }: JsonNode, empty: string, tokens: string | null): void {
    this.marks.push({ type: "probabilities", prefix, start, end, empty, tokens });
  }
  end(prefix: string): void {
    this.marks.push({ type: "end", prefix });
  }
  number(sequence: number): void {
    this.sequence = sequence;
  }

  #add(type: "text" | "repeat", key: string, channel: TextChannel, node: JsonNode, form: TextForm): void {
    const text = readText(this.#json, node, form);
    if (text === null) return;
    const slot = this.#toSlot({ start: node.start, end: node.end, form, text });
    this.marks.push({ type, key, channel, slot });
  }
}
