// The texts of a JSON request and replacing them.
import { applySplices, JsonDocument, type JsonNode, type Splice } from "../base/json-nodes.ts";
import { closingQuote } from "../base/json-strings.ts";
import { keptConversationOf } from "./kept-conversation.ts";
import { RequestTextReader } from "./request-text-reader.ts";
import type { Found, RequestIdentifier, RequestText, ToolResult } from "./request-text.ts";
import type { FoundResult } from "./result-collector.ts";

const NO_KEYS: ReadonlyMap<string, string> = new Map();

export class RequestTexts {
  readonly #json: JsonDocument;
  readonly #found: readonly Found[];
  /** Those outside of the conversation first, so that the order of the others does not change when the conversation goes on. */
  readonly texts: readonly RequestText[];
  /** The strings that are no texts. Only the names of fields can be replaced. */
  readonly identifiers: readonly RequestIdentifier[];
  readonly #results: readonly FoundResult[];
  /** What in the body cannot be read as text although it is; null if there is nothing. */
  readonly unreadable: string | null;
  /** What in the body contradicts itself so often that it is not read; null if there is nothing. It is `unreadable` as well. */
  readonly ambiguous: string | null;

  private constructor(json: JsonDocument, reader: RequestTextReader) {
    this.#json = json;
    this.#found = reader.read();
    this.texts = this.#found.map(({ text }) => text);
    this.identifiers = reader.identifiers;
    this.#results = reader.results;
    this.ambiguous = reader.ambiguous;
    this.unreadable = reader.unreadable ?? reader.ambiguous;
  }

  /** Returns null if the body is no JSON. */
  static read(body: Uint8Array): RequestTexts | null {
    const json = JsonDocument.parse(body);
    return json === null ? null : new RequestTexts(json, new RequestTextReader(json));
  }

  /** The field by which the request continues a conversation that its provider keeps; null if it does not. */
  get keptConversation(): string | null {
    return keptConversationOf(this.#json);
  }

  /** The results of tools. One with only an image has no blocks. */
  get results(): readonly ToolResult[] {
    return this.#results;
  }

  /** Returns the body with each block of the results at these positions replaced by the text. */
  replaceResults(positions: readonly number[], text: string): Uint8Array {
    const blocks = positions.flatMap((position) => this.#results[position]?.blocks ?? []);
    const written = new Map<JsonNode, unknown>();
    for (const { node, encode } of blocks)
      if (!written.has(node)) written.set(node, encode === null ? text : encode(text, this.#stringOf(node)));
    return applySplices(this.#json.bytes, splicesOf(written));
  }

  /** The tools of the results that have no text, such as those with only an image; null if a tool is not known. */
  get resultsWithoutText(): readonly (string | null)[] {
    return this.#results.flatMap(({ tools: [tool], blocks }) => (blocks.length > 0 ? [] : [tool ?? null]));
  }

  /** Returns the body with the texts at these positions, and the names of these fields, replaced; all other bytes stay. */
  replace(
    replacements: ReadonlyMap<number, string>,
    keys: ReadonlyMap<string, string> = NO_KEYS,
  ): Uint8Array {
    const written = new Map<JsonNode, string>();
    for (const [index, text] of [...replacements].sort(([a], [b]) => a - b)) {
      const found = this.#found[index];
      if (found === undefined || text === found.text.text) continue;
      const { node, encode } = found;
      written.set(node, encode === null ? text : encode(text, written.get(node) ?? this.#stringOf(node)));
    }
    const splices = splicesOf(written);
    if (keys.size > 0) this.#replaceKeys(this.#json.root, keys, splices);
    splices.sort((a, b) => a.start - b.start);
    return applySplices(this.#json.bytes, splices);
  }

  #stringOf(node: JsonNode): string {
    return this.#json.text(node) ?? "";
  }

  #replaceKeys(node: JsonNode, replacements: ReadonlyMap<string, string>, splices: Splice[]): void {
    const { bytes } = this.#json;
    for (const [index, key] of node.keys.entries()) {
      const replacement = replacements.get(key);
      const start = node.keyStarts[index];
      if (replacement === undefined || start === undefined) continue;
      const end = closingQuote(bytes, start + 1) + 1;
      splices.push({ start, end, bytes: Buffer.from(JSON.stringify(replacement)) });
    }
    for (const child of node.children) this.#replaceKeys(child, replacements, splices);
  }
}

function splicesOf(written: ReadonlyMap<JsonNode, unknown>): Splice[] {
  return [...written]
    .map(([{ start, end }, value]) => ({ start, end, bytes: Buffer.from(JSON.stringify(value)) }))
    .sort((a, b) => a.start - b.start);
}
