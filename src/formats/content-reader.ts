// Recognizes the events of a stream that carry content: text, reasoning, or the arguments of a tool call. Which fields hold
// content is declared by each format.
import { MAX_EVENT_ITEMS, parseBounded } from "../base/bounded-json.ts";
import { indexOfBytes, utf8Between } from "../base/byte-search.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";

export type ContentKind = "reasoning" | "output";

interface ContentFields {
  /**
   * Names of the fields that hold content, those of reasoning first, because it is generated first. An event without any of
   * them as a text that is not empty is not parsed.
   */
  readonly names: readonly string[];
  /** Returns null if the event has no content. */
  readonly kindOf: (event: JsonObject) => ContentKind | null;
}

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COLON = 0x3a;
const DATA_FIELD = /^data: ?/;

export class ContentReader {
  readonly #quotedNames: readonly Uint8Array[];
  readonly #kindOf: ContentFields["kindOf"];

  constructor({ names, kindOf }: ContentFields) {
    this.#quotedNames = names.map((name) => Buffer.from(JSON.stringify(name)));
    this.#kindOf = kindOf;
  }

  /** Returns the kind of the content in these complete lines of an event stream; null if there is none. */
  contentIn(lines: Uint8Array): ContentKind | null {
    for (const name of this.#quotedNames) {
      for (let at = indexOfBytes(lines, name, 0); at >= 0; at = indexOfBytes(lines, name, at)) {
        at += name.byteLength;
        if (!isBeforeText(lines, at)) continue;
        const start = at;
        // A line is parsed once per name at most, however often it contains the name.
        while (at < lines.byteLength && !isLineEnd(lines[at])) at++;
        const kind = this.#contentAt(lines, start, at);
        if (kind !== null) return kind;
      }
    }
    return null;
  }

  /** Reads the event in the line around `at`. Fields that hold no content may have the same name. */
  #contentAt(lines: Uint8Array, at: number, lineEnd: number): ContentKind | null {
    let from = at;
    while (from > 0 && !isLineEnd(lines[from - 1])) from--;
    try {
      const event: unknown = parseBounded(
        utf8Between(lines, from, lineEnd).replace(DATA_FIELD, ""),
        MAX_EVENT_ITEMS,
      );
      return isJsonObject(event) ? this.#kindOf(event) : null;
    } catch {
      return null;
    }
  }
}

/** Whether the value of the name that ends at `from` is a text that is not empty. */
function isBeforeText(bytes: Uint8Array, from: number): boolean {
  let at = from;
  while (bytes[at] === SPACE) at++;
  if (bytes[at] !== COLON) return false;
  at++;
  while (bytes[at] === SPACE) at++;
  return bytes[at] === QUOTE && bytes[at + 1] !== QUOTE;
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === LF || byte === CR;
}

export function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}
