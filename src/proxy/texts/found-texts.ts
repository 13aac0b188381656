// Finds the texts in one piece of a response, and where their JSON is located.
import { hasByteOrderMark } from "../../base/byte-search.ts";
import { GatehouseError } from "../../base/errors.ts";
import { JsonDocument, type JsonNode } from "../../base/json-nodes.ts";
import { JsonScanner } from "../../base/json-scanner.ts";
import { toError } from "../../base/to-error.ts";
import { readText, type FoundText } from "./found-text.ts";
import {
  contentChannel,
  type TextChannel,
  type TextForm,
  type TextReader,
  type TextSink,
} from "../../formats/text-channels.ts";

/** What a unit means for the channels, in order. Texts are in a `TextSlot`, or as they were found. */
export type MarkWith<Slot> =
  | {
      readonly type: "text" | "whole" | "repeat";
      readonly key: string;
      readonly channel: TextChannel;
      readonly slot: Slot;
    }
  | { readonly type: "open"; readonly key: string; readonly channel: TextChannel }
  | Probabilities
  | { readonly type: "end"; readonly prefix: string };

/** The tokens of the texts whose keys start with `prefix`, and the JSON that replaces them if a text was changed. */
export interface Probabilities {
  readonly type: "probabilities";
  readonly prefix: string;
  readonly start: number;
  readonly end: number;
  readonly empty: string;
  /** Null if they were compared with the texts of a whole body. */
  readonly tokens: string | null;
  /** All of the text is beside the tokens. */
  readonly isWhole: boolean;
}

export type FoundMark = MarkWith<FoundText>;

/** Each value takes about 100 bytes of memory while texts are searched. */
const MAX_BODY_VALUES = 2_000_000;

/** Returns null if the text is not JSON. Text that is in too deep or too many values must not pass unread. */
export function parsed(json: Uint8Array, maxValues: number): JsonDocument | null {
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

/** Null: the body is not JSON. `mixed`: some of its lines are. */
type FoundTexts = readonly FoundMark[] | "mixed" | null;

/** Finds the texts of a body. `isStrict`: the body has the format of the reader. Otherwise each line may be JSON. */
export function findTexts(bytes: Uint8Array, reader: TextReader, isStrict: boolean): FoundTexts {
  const texts = new BodyTexts(reader, isStrict);
  const document = texts.read(bytes, 0, "");
  const found = document !== null || isStrict ? document : findInLines(bytes, texts);
  // One end for all: each takes a look at all channels.
  return found === null || found === "mixed" ? found : [...found, { type: "end", prefix: "" }];
}

/** A mark of a document, whose texts end with the body. */
type DocumentMark = Exclude<FoundMark, { readonly type: "end" }>;

const MARK_BYTES = 3;

function findInLines(bytes: Uint8Array, texts: BodyTexts): readonly DocumentMark[] | "mixed" | null {
  const marks: DocumentMark[] = [];
  let lines = 0;
  let others = 0;
  for (let start = hasByteOrderMark(bytes) ? MARK_BYTES : 0; start < bytes.length;) {
    const next = bytes.indexOf(LF, start);
    const end = next < 0 ? bytes.length : next;
    const line = bytes.subarray(start, end);
    if (line.some((byte) => byte > SPACE)) {
      const found = isStructure(line) ? texts.read(line, start, `line/${lines}/`) : null;
      if (found === null) others++;
      else if (++lines > MAX_TEXTS) throw tooManyTexts();
      for (const mark of found ?? []) marks.push(mark);
    }
    start = end + 1;
  }
  if (lines === 0) return null;
  return others === 0 ? marks : "mixed";
}

const LF = 0x0a;
const SPACE = 0x20;
const OPENING = new Set([0x5b, 0x7b]);

/** Whether the first character of a line that is not blank is a bracket. */
function isStructure(line: Uint8Array): boolean {
  return OPENING.has(line.find((byte) => byte > SPACE) ?? 0);
}

function tooManyTexts(): GatehouseError {
  return new GatehouseError("upstream_bad_answer", `The response has more than ${MAX_TEXTS} texts.`);
}

/** Finds the texts of the documents of one body. */
class BodyTexts {
  readonly #reader: TextReader;
  readonly #isStrict: boolean;
  #count = 0;

  constructor(reader: TextReader, isStrict: boolean) {
    this.#reader = reader;
    this.#isStrict = isStrict;
  }

  /** Returns null if the bytes are not JSON. `offset`: where they are located in the body. `place` identifies the document. */
  read(bytes: Uint8Array, offset: number, place: string): readonly DocumentMark[] | null {
    const body = parsed(bytes, MAX_BODY_VALUES);
    if (body === null || !isStrictJson(bytes)) return null;
    const collected = new Collected(body, (found) => {
      if (++this.#count > MAX_TEXTS) throw tooManyTexts();
      return found;
    });
    this.#reader.readWhole(body, collected, this.#isStrict);
    const marks = withTokens(collected.marks.filter((mark) => mark.type !== "end"));
    return place === "" ? marks : marks.map((mark) => moved(mark, offset, place));
  }
}

/** Returns the mark of a document within a body. */
function moved(mark: DocumentMark, offset: number, place: string): DocumentMark {
  if (mark.type === "probabilities")
    return {
      ...mark,
      prefix: place + mark.prefix,
      start: mark.start + offset,
      end: mark.end + offset,
    };
  const key = place + mark.key;
  if (mark.type === "open") return { ...mark, key };
  const { slot } = mark;
  return { ...mark, key, slot: { ...slot, start: slot.start + offset, end: slot.end + offset } };
}

/** Tokens that are not those of a text beside them are a text of their own. */
function withTokens(marks: readonly DocumentMark[]): readonly DocumentMark[] {
  const texts = new Map<string, Set<string>>();
  for (const [prefix, slots] of slotsByPrefix(marks)) {
    const all = slots.map(({ text }) => text);
    texts.set(prefix, new Set([...all, all.join("")]));
  }
  return marks.flatMap((mark): DocumentMark[] => {
    if (mark.type !== "probabilities" || mark.tokens === null) return [mark];
    const { prefix, start, end, empty, tokens: text } = mark;
    const found = { ...mark, tokens: null };
    if (text === "" || texts.get(prefix)?.has(text) === true) return [found];
    const slot: FoundText = { start, end, form: "json", text, empty };
    return [found, { type: "whole", key: `${prefix}tokens/`, channel: contentChannel(0), slot }];
  });
}

/** Returns the texts beside probabilities, by the prefix of their keys. */
export function slotsByPrefix<Slot>(marks: readonly MarkWith<Slot>[]): ReadonlyMap<string, readonly Slot[]> {
  const byPrefix = new Map<string, Slot[]>();
  for (const mark of marks) if (mark.type === "probabilities") byPrefix.set(mark.prefix, []);
  const lengths = new Set([...byPrefix.keys()].map(({ length }) => length));
  for (const mark of marks)
    if ("slot" in mark)
      for (const length of lengths) byPrefix.get(mark.key.slice(0, length))?.push(mark.slot);
  return byPrefix;
}

/** The document accepts more than JSON, such as line breaks in strings, after which other clients see lines or events. */
export function isStrictJson(bytes: Uint8Array): boolean {
  return scanner.scan(bytes) !== "invalid";
}

const scanner = new JsonScanner([]);

/** `what` is the part of the response that cannot be read. */
export function unreadable(what: string): GatehouseError {
  return new GatehouseError(
    "upstream_bad_answer",
    `The provider's response has ${what} that is not JSON in UTF-8, so the plugins of this gateway cannot inspect it. Check the target's format.`,
  );
}

export class Collected<Slot> implements TextSink {
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
  whole(key: string, channel: TextChannel, node: JsonNode, form: TextForm = "string"): void {
    this.#add("whole", key, channel, node, form);
  }
  repeat(key: string, channel: TextChannel, node: JsonNode, form: TextForm = "string"): void {
    this.#add("repeat", key, channel, node, form);
  }
  open(key: string, channel: TextChannel): void {
    this.marks.push({ type: "open", key, channel });
  }
  probabilities(
    prefix: string,
    { start, end }: JsonNode,
    empty: string,
    tokens: string,
    isWhole: boolean,
  ): void {
    this.marks.push({ type: "probabilities", prefix, start, end, empty, tokens, isWhole });
  }
  end(prefix: string): void {
    this.marks.push({ type: "end", prefix });
  }
  number(sequence: number): void {
    this.sequence = sequence;
  }

  #add(
    type: "text" | "whole" | "repeat",
    key: string,
    channel: TextChannel,
    node: JsonNode,
    form: TextForm,
  ): void {
    const text = readText(this.#json, node, form);
    if (text === null)
      throw new GatehouseError("upstream_bad_answer", "The provider's response has an invalid string.");
    const slot = this.#toSlot({ start: node.start, end: node.end, form, text });
    this.marks.push({ type, key, channel, slot });
  }
}
