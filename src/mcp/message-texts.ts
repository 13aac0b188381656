// Finds the texts in messages of MCP servers, so that plugins can read and replace them. Every string of a message is a text, wherever it is,
// except identifiers: `jsonrpc`, `id`, `method`, `protocolVersion`, the `type` of a block, `role`, `mimeType`, `resultType`,
// `cacheScope`, base64 of media, the cursor of a list, and the `requestState` of a result that asks for input. Names and URIs in lists are read with the definitions that they are part of.
import { isUtf8 } from "node:buffer";
import { GatehouseError } from "../base/errors.ts";
import type { JsonDocument, JsonNode } from "../base/json-nodes.ts";
import {
  hasText,
  type McpReading,
  type McpRequestName,
  type TextChannel,
  type TextForm,
  type TextReader,
  type TextSink,
} from "../formats/text-channels.ts";
import { isTextFile, startsAsText } from "../base/text-bytes.ts";
import { isListMethod, LISTS } from "./protocol.ts";

/** What only the server reads: a cursor, or its state. With other characters it may be a text. */
const OPAQUE = /^[\w.+/:=~-]{0,4096}$/;
/** A longer value, or one with spaces, may be a sentence. */
const IDENTIFIER = /^[\w.+/:-]{1,128}$/;
const IDENTIFIER_KEYS = new Set([
  "jsonrpc",
  "id",
  "method",
  "protocolVersion",
  "type",
  "role",
  "mimeType",
  "resultType",
  "cacheScope",
]);
const MEDIA_BLOCKS = new Set(["image", "audio"]);
/** Decoders disagree about other characters. */
const BASE64 = /^[A-Za-z0-9+/\r\n]*={0,2}$/;
/** Characters of base64 that tell whether it is of a text. */
const FIRST_CHARACTERS = 1024;

export function messageTexts(reading: McpReading): TextReader {
  return {
    format: { mcp: reading },
    readWhole: (body, sink) => new MessageReader(body, sink, reading).read(),
    // Each message is a body of its own.
    openStream: () => ({ read: () => undefined }),
    repeats: false,
    errorEvent: () => "",
  };
}

type Place = Pick<TextChannel, "kind" | "tool" | "method">;
type Read = (node: JsonNode) => void;

class MessageReader {
  readonly #body: JsonDocument;
  readonly #sink: TextSink;
  readonly #reading: McpReading;
  #place: Place = { kind: "content", tool: null, method: null };
  #count = 0;

  constructor(body: JsonDocument, sink: TextSink, reading: McpReading) {
    this.#body = body;
    this.#sink = sink;
    this.#reading = reading;
  }

  read(): void {
    const { root } = this.#body;
    for (const message of root.type === "array" ? root.elements : [root]) this.#readMessage(message);
  }

  #readMessage(message: JsonNode): void {
    const method = this.#body.text(message.get("method"));
    const request = method === null ? this.#requestOf(message) : null;
    this.#place = method === null ? placeOfResponse(request) : this.#placeOfMessage(method);
    const { kind } = this.#place;
    const before = this.#count;
    this.#readMembers(message, {
      result: (result) => this.#readResult(result, request),
      error: (error) => this.#readMembers(error),
      params: (params) => this.#readMembers(params, { messages: (list) => this.#readPrompts(list) }),
    });
    // A rule about the result must hold although the result has no text.
    if (method === null && kind === "tool_result" && this.#count === before) {
      const index = this.#count++;
      this.#sink.open(`${index}/`, this.#channel(index, false));
    }
  }

  /**
   * Returns null if the message has no id, or the client sent no requests. Throws if the id is not that of one request: a list would
   * pass as something else.
   */
  #requestOf(message: JsonNode): McpRequestName | null {
    const { requests } = this.#reading;
    const id = message.get("id");
    if (id === null || this.#body.source(id) === "null" || requests.length === 0) return null;
    const value = this.#body.text(id) ?? this.#body.number(id);
    const [found, ...others] = requests.filter((request) => request.id === value);
    if (found !== undefined && others.length === 0) return found;
    throw new GatehouseError(
      "upstream_bad_answer",
      "A response for the client has an id that is not that of exactly one request. Give each request an id of its own, of letters and digits.",
    );
  }

  /** What a server sends during a call belongs to its result. */
  #placeOfMessage(method: string): Place {
    const named = this.#reading.requests.filter(({ item }) => item !== null);
    if (named.length === 0) return { kind: "content", tool: null, method };
    return { kind: "tool_result", tool: named.length === 1 ? (named[0]?.item ?? null) : null, method };
  }

  #readResult(result: JsonNode, request: McpRequestName | null): void {
    const method = request?.method ?? "";
    const list = isListMethod(method) ? LISTS[method].field : null;
    const asksForInput = this.#body.text(result.get("resultType")) === "input_required";
    const opaque = list === null ? (asksForInput ? "requestState" : null) : "nextCursor";
    this.#readMembers(result, {
      ...(list !== null && { [list]: (items: JsonNode) => this.#readDefinitions(items) }),
      ...(opaque !== null && { [opaque]: (value: JsonNode) => this.#readOpaque(value) }),
      content: (content) => this.#readContent(content),
      structuredContent: (value) => this.#readValue(value),
      messages: (messages) => this.#readPrompts(messages),
      contents: (contents) => this.#readEach(contents, (each) => this.#readResource(each)),
      completion: (completion) =>
        this.#readMembers(completion, {
          values: (values) => this.#readEach(values, (each) => this.#readValue(each)),
        }),
    });
  }

  #readDefinitions(items: JsonNode): void {
    if (items.type !== "array" || items.children.length === 0) return;
    const index = this.#count++;
    const channel = { ...this.#channel(index, true), kind: "definitions", tool: null } as const;
    this.#sink.text(`${index}/`, channel, items, "definitions");
  }

  #readPrompts(messages: JsonNode): void {
    this.#readEach(messages, (message) =>
      this.#readMembers(message, { content: (content) => this.#readContent(content) }),
    );
  }

  #readContent(content: JsonNode): void {
    this.#readEach(content, (block) => this.#readBlock(block));
  }

  #readBlock(block: JsonNode): void {
    const isMedia = MEDIA_BLOCKS.has(this.#body.text(block.get("type")) ?? "");
    this.#readMembers(block, {
      resource: (resource) => this.#readResource(resource),
      content: (content) => this.#readContent(content),
      ...(isMedia && { data: (data: JsonNode) => this.#readFile(data, block) }),
    });
  }

  #readResource(resource: JsonNode): void {
    this.#readMembers(resource, { blob: (blob) => this.#readFile(blob, resource) });
  }

  /** Reads each element of an array; anything else as if it were the only one. */
  #readEach(node: JsonNode, read: Read): void {
    for (const each of node.type === "array" ? node.children : [node]) read(each);
  }

  /** Reads all members of an object, also those with equal keys; `readers` are for members of the protocol. */
  #readMembers(node: JsonNode, readers: Readonly<Record<string, Read>> = {}): void {
    if (node.type !== "object") {
      this.#readValue(node);
      return;
    }
    for (const [index, child] of node.children.entries()) {
      const key = node.keys[index] ?? "";
      const read = Object.hasOwn(readers, key) ? readers[key] : undefined;
      if (read !== undefined) read(child);
      else if (!this.#isIdentifier(key, child)) this.#readValue(child);
    }
  }

  #isIdentifier(key: string, node: JsonNode): boolean {
    return (
      node.type === "string" && IDENTIFIER_KEYS.has(key) && IDENTIFIER.test(this.#body.text(node) ?? " ")
    );
  }

  #readOpaque(node: JsonNode): void {
    if (!OPAQUE.test(this.#body.text(node) ?? " ")) this.#readValue(node);
  }

  /** A string is a text; in anything else, its JSON is. */
  #readValue(node: JsonNode): void {
    if (node.type === "string") {
      if (hasText(node)) this.#add(node, "string");
    } else if (node.children.length > 0) this.#add(node, "json");
  }

  /** `data` is base64; `holder` has its media type. */
  #readFile(data: JsonNode, holder: JsonNode): void {
    const base64 = this.#body.text(data);
    if (base64 === null) this.#readValue(data);
    else if (!BASE64.test(base64.trimEnd())) this.#reject("base64 that decoders read in different ways");
    else {
      const type = this.#body.text(holder.get("mimeType"));
      const start = Buffer.from(base64.slice(0, FIRST_CHARACTERS), "base64");
      if (!isTextFile(type, start)) return;
      if (isUtf8(Buffer.from(base64, "base64"))) this.#add(data, "base64");
      else if (startsAsText(type, start)) this.#reject("a text that is not UTF-8");
    }
  }

  #reject(what: string): void {
    const { guard } = this.#reading;
    if (guard === null) return;
    throw new GatehouseError(
      "guard_not_applicable",
      `The plugin ${guard} of the gateway cannot inspect a file of the MCP server: it is ${what} (transport mcp). To let such files pass uninspected, add "mcp" to unguarded of the rule.`,
    );
  }

  #add(node: JsonNode, form: TextForm): void {
    const index = this.#count++;
    this.#sink.text(`${index}/`, this.#channel(index, form === "json"), node, form);
  }

  #channel(index: number, isJson: boolean): TextChannel {
    return { ...this.#place, index, isJson, isReadOnly: false };
  }
}

/** Without a request that is known, the message may be the result of anything. */
function placeOfResponse(request: McpRequestName | null): Place {
  if (request === null) return { kind: "tool_result", tool: null, method: null };
  const { method, item } = request;
  const isResult = item !== null || RESULTS.has(method);
  return { kind: isResult ? "tool_result" : "content", tool: item, method };
}

const RESULTS = new Set(["tools/call", "prompts/get", "resources/read", "completion/complete"]);
