// Finds the texts in messages of MCP servers, so that plugins can read and replace them: results of tools, prompts, resources, errors,
// notifications, and requests to the client.
import type { JsonDocument, JsonNode } from "../base/json-nodes.ts";
import {
  contentChannel,
  hasText,
  resultChannel,
  type TextReader,
  type TextSink,
} from "../formats/text-channels.ts";

/** `tool` is the called tool, by the name that the client uses; null for the messages of other requests. */
export function messageTexts(tool: string | null): TextReader {
  return {
    format: { mcpTool: tool },
    readWhole: (body, sink) => new MessageReader(body, sink, tool).read(),
    // Each message is a body of its own.
    openStream: () => ({ read: () => undefined }),
    repeats: false,
    errorEvent: () => "",
  };
}

class MessageReader {
  readonly #body: JsonDocument;
  readonly #sink: TextSink;
  readonly #tool: string | null;
  #count = 0;

  constructor(body: JsonDocument, sink: TextSink, tool: string | null) {
    this.#body = body;
    this.#sink = sink;
    this.#tool = tool;
  }

  read(): void {
    const { root } = this.#body;
    for (const message of root.type === "array" ? root.elements : [root]) this.#readMessage(message);
  }

  #readMessage(message: JsonNode): void {
    const result = message.get("result");
    if (result !== null) this.#readResult(result);
    this.#text(message.get("error")?.get("message") ?? null);
    const params = message.get("params");
    if (params === null) return;
    switch (this.#body.text(message.get("method"))) {
      case "notifications/progress":
        this.#text(params.get("message"));
        break;
      case "notifications/message":
        this.#value(params.get("data"));
        break;
      default:
        // What a server asks of the client: the texts may be anywhere.
        this.#value(params);
    }
  }

  #readResult(result: JsonNode): void {
    for (const content of valuesOf(result, "content"))
      for (const block of content.elements) this.#readBlock(block);
    for (const value of valuesOf(result, "structuredContent")) this.#value(value);
    for (const messages of valuesOf(result, "messages"))
      for (const content of messages.elements.flatMap((message) => valuesOf(message, "content")))
        for (const block of content.type === "array" ? content.elements : [content]) this.#readBlock(block);
    for (const contents of valuesOf(result, "contents"))
      for (const text of contents.elements.flatMap((resource) => valuesOf(resource, "text")))
        this.#text(text);
  }

  #readBlock(block: JsonNode): void {
    for (const text of valuesOf(block, "text")) this.#text(text);
    for (const resource of valuesOf(block, "resource"))
      for (const text of valuesOf(resource, "text")) this.#text(text);
    for (const name of ["title", "description"]) for (const text of valuesOf(block, name)) this.#text(text);
  }

  /** A string is a text; in anything else, its JSON is. */
  #value(node: JsonNode | null): void {
    if (node === null || node.type === "string") this.#text(node);
    else if (node.children.length > 0) this.#add(node, true);
  }

  #text(node: JsonNode | null): void {
    if (hasText(node)) this.#add(node, false);
  }

  #add(node: JsonNode, isRaw: boolean): void {
    const index = this.#count++;
    const channel =
      this.#tool === null
        ? { ...contentChannel(index), isJson: isRaw }
        : resultChannel(index, this.#tool, isRaw);
    this.#sink.text(`${index}/`, channel, node, isRaw);
  }
}

/** Returns all values of a key: large parts of a message are passed on as they were written, and clients may read any of them. */
function valuesOf(node: JsonNode, key: string): JsonNode[] {
  return node.children.filter((_, index) => node.keys[index] === key);
}
