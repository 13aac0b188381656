// Finds the texts in one piece of a response, and where their JSON is located.
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

/** Finds the texts of a body; null if it is not JSON. `isStrict`: the body has the format of the reader. */
export function findTexts(
  bytes: Uint8Array,
  reader: TextReader,
  isStrict: boolean,
): readonly FoundMark[] | null {
  const body = parsed(bytes, MAX_BODY_VALUES);
  if (body === null || !isStrictJson(bytes)) return null;
  let count = 0;
  const collected = new Collected(body, (found) => {
    if (++count > MAX_TEXTS)
      throw new GatehouseError("upstream_bad_answer", `The response has more than ${MAX_TEXTS} texts.`);
    return found;
  });
  reader.readWhole(body, collected, isStrict);
  collected.end("");
  return withTokens(collected.marks);
}

/** Tokens that are not those of a text beside them are a text of their own. */
function withTokens(marks: readonly FoundMark[]): readonly FoundMark[] {
  return marks.flatMap((mark): FoundMark[] => {
    if (mark.type !== "probabilities" || mark.tokens === null) return [mark];
    const { prefix, start, end, empty, tokens: text } = mark;
    const found: FoundMark = { ...mark, tokens: null };
    const isBeside = marks.some(
      (other) => "slot" in other && other.key.startsWith(prefix) && other.slot.text.includes(text),
    );
    if (text === "" || isBeside) return [found];
    const slot: FoundText = { start, end, form: "json", text, empty };
    return [found, { type: "whole", key: `${prefix}tokens/`, channel: contentChannel(0), slot }];
  });
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
