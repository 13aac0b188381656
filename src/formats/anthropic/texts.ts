// The texts in responses of Anthropic's messages, whole and streamed.
import type { JsonDocument, JsonNode } from "../../base/json-nodes.ts";
import { eventTypeOf } from "../event-type.ts";
import { MemberNames } from "../member-names.ts";
import { isIdentifier, isIdentifierKey } from "../opaque-values.ts";
import { placeNumber } from "../place-number.ts";
import { ReadTexts } from "../read-texts.ts";
import { requireObject } from "../require-object.ts";
import { formatSse } from "../sse.ts";
import {
  contentChannel,
  hasText,
  readArguments,
  readToolResult,
  reasoningChannel,
  toolChannel,
  ToolNames,
  type EventTexts,
  type TextReader,
  type TextSink,
} from "../text-channels.ts";
import { encodeError } from "./encode-error.ts";

const COMPACTION = "compaction";
/** The members that lead to texts and calls. */
const NAMES = new MemberNames([
  ...["type", "message", "role", "content", "index", "content_block", "delta", "id"],
  ...["text", "thinking", "partial_json", "name", "input", "signature", "citation", "citations"],
]);

export const anthropicTexts: TextReader = {
  format: "anthropic",
  readWhole(body, sink, isStrict) {
    if (isStrict) requireObject(body);
    const read = new ReadTexts(body, sink);
    const names = new ToolNames();
    for (const [index, block] of (body.root.get("content")?.elements ?? []).entries()) {
      readBlock(read, block, index, `${index}/`, hasText(block.get("signature")));
      if (body.text(block.get("type")) === COMPACTION) readSummary(read, block, index);
      if (isCall(block)) names.add(body.text(block.get("id")) ?? "", body.text(block.get("name")));
      readResult(body, block, index, names, read);
      if (!isCall(block)) continue;
      read.called(block);
      const channel = toolChannel(index, body.text(block.get("name")));
      readArguments(read, `${index}/input/`, channel, block.get("input"));
    }
    read.readRest(isStrict ? NAMES : null);
  },
  openStream: () => new MessageTexts(),
  repeats: false,
  errorEvent: (error) => formatSse({ event: "error", data: JSON.stringify(encodeError(error)) }),
};

function readBlock(sink: ReadTexts, block: JsonNode, index: number, key: string, isSigned: boolean): void {
  const text = block.get("text");
  if (hasText(text)) sink.text(`${key}text/`, contentChannel(index), text);
  const thinking = block.get("thinking");
  if (hasText(thinking)) sink.text(`${key}thinking/`, reasoningChannel(index, isSigned), thinking);
}

/** A summary of earlier turns, in a block or a delta of it. It is not signed: the client sends it back, and guards inspect it then. */
function readSummary(sink: TextSink, node: JsonNode | null, index: number): void {
  const summary = node?.get("content") ?? null;
  if (hasText(summary)) sink.text(`${index}/summary/`, reasoningChannel(index, false), summary);
}

/** Reads what a tool of the provider, or of an MCP server that it asked, returned. The block is whole in the first event of a stream. */
function readResult(
  body: JsonDocument,
  block: JsonNode,
  index: number,
  names: ToolNames,
  sink: ReadTexts,
): void {
  const type = body.text(block.get("type")) ?? "";
  if (!type.endsWith("tool_result")) return;
  const [, named = null] = /^(\w+)_tool_result$/.exec(type) ?? [];
  const tool = names.get(body.text(block.get("tool_use_id")) ?? "") ?? (named === "mcp" ? null : named);
  readToolResult(sink, `${index}/result/`, index, tool, block.get("content"));
}

/** Only calls have a name. */
function isCall(block: JsonNode): boolean {
  return block.get("name") !== null || block.get("input") !== null;
}

class MessageTexts implements EventTexts {
  readonly #names = new ToolNames();
  /** By the ids of the calls. */
  readonly #called = new ToolNames();

  read(event: JsonDocument, sink: TextSink, name: string | null): void {
    requireObject(event);
    const read = new ReadTexts(event, sink);
    this.#readEvent(event, read, name);
    read.readRest(NAMES);
  }

  #readEvent(event: JsonDocument, sink: ReadTexts, name: string | null): void {
    const { root } = event;
    const index = placeNumber(event, root, "index", 0);
    const key = `${index}/`;
    switch (eventTypeOf(event, name)) {
      case "message_start":
        // Clients add the deltas to these blocks.
        for (const [at, block] of (root.get("message")?.get("content")?.elements ?? []).entries())
          this.#readStart(event, sink, block, at);
        return;
      case "content_block_start": {
        const block = root.get("content_block");
        if (block !== null) this.#readStart(event, sink, block, index);
        return;
      }
      case "content_block_delta":
        this.#readDelta(event, sink, root.get("delta"), index, key);
        return;
      case "content_block_stop":
        sink.end(key);
        return;
      case "message_stop":
        sink.end("");
    }
  }

  #readStart(event: JsonDocument, sink: ReadTexts, block: JsonNode, index: number): void {
    const key = `${index}/`;
    this.#names.add(key, event.text(block.get("name")));
    readBlock(sink, block, index, key, true);
    if (event.text(block.get("type")) === COMPACTION) readSummary(sink, block, index);
    if (isCall(block)) {
      this.#called.add(event.text(block.get("id")) ?? "", event.text(block.get("name")));
      this.#readCall(sink, block, index);
    }
    readResult(event, block, index, this.#called, sink);
  }

  #readCall(sink: ReadTexts, block: JsonNode, index: number): void {
    const key = `${index}/`;
    const channel = this.#names.channelOf(key, index);
    const input = block.get("input");
    const isWhole = input?.type === "string" || (input?.children.length ?? 0) > 0;
    sink.called(block);
    // Arguments in the first event are complete. Deltas would replace them.
    if (isWhole) readArguments(sink, `${key}start/`, channel, input);
    // The arguments follow in deltas, or there are none at all.
    else sink.open(`${key}input/`, channel);
  }

  #readDelta(event: JsonDocument, sink: ReadTexts, delta: JsonNode | null, index: number, key: string): void {
    const text = delta?.get("text") ?? null;
    if (hasText(text)) sink.text(`${key}text/`, contentChannel(index), text);
    // The signature follows at the end of the block.
    const thinking = delta?.get("thinking") ?? null;
    if (hasText(thinking)) sink.text(`${key}thinking/`, reasoningChannel(index, true), thinking);
    readSummary(sink, delta, index);
    const json = delta?.get("partial_json") ?? null;
    if (hasText(json)) sink.text(`${key}input/`, this.#names.channelOf(key, index), json);
    for (const [at, piece] of (delta?.children ?? []).entries()) {
      const name = delta?.keys[at] ?? "";
      if (!hasText(piece) || READ.has(name)) continue;
      // Pieces of a text that the gateway does not know: clients join them.
      if (!isIdentifierKey(name) || !isIdentifier(event.bytes, piece.start + 1, piece.end - 1))
        sink.text(`${key}delta/${name}/`, contentChannel(index), piece);
    }
  }
}

/** The members of a delta that are read as pieces of known texts. */
const READ = new Set(["text", "thinking", "partial_json", "content"]);
