// Converts messages between whole responses and event streams.
import { parseBounded } from "../../base/bounded-json.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { textOrEmpty } from "../json-values.ts";
import type { SseEvent } from "../sse.ts";
import type { StreamAssembly } from "./assembly.ts";
import { namedEvent, objectIn, objectsIn, setField } from "./read-events.ts";

export const MESSAGES_ASSEMBLY: StreamAssembly = {
  isComplete: ({ type, stop_reason }) => type === "message" && typeof stop_reason === "string",
  assemble: assembleMessage,
  encode: encodeMessage,
  withUsage: null,
};

/** The fields of a delta and of its block, by the type of the delta. */
const TEXT_DELTAS: Readonly<Record<string, string>> = {
  text_delta: "text",
  thinking_delta: "thinking",
  signature_delta: "signature",
};

function assembleMessage(events: readonly SseEvent[]): JsonObject | null {
  let message: JsonObject | null = null;
  const assembler = new BlockAssembler();
  for (const event of events) {
    const data = objectIn(event);
    switch (data["type"]) {
      case "ping":
        break;
      case "message_start":
        if (message !== null || !isJsonObject(data["message"])) return null;
        message = { ...data["message"] };
        break;
      case "content_block_start":
        assembler.start(data);
        break;
      case "content_block_delta":
        assembler.add(data);
        break;
      case "content_block_stop":
        assembler.stop(data);
        break;
      case "message_delta":
        if (message === null) return null;
        addDelta(message, data);
        break;
      case "message_stop":
        if (message === null || event !== events.at(-1) || !assembler.isComplete) return null;
        message["content"] = assembler.blocks;
        return MESSAGES_ASSEMBLY.isComplete(message) ? message : null;
      default:
        return null;
    }
  }
  return null;
}

function addDelta(message: JsonObject, { delta, usage, ...rest }: JsonObject): void {
  const known = isJsonObject(message["usage"]) ? message["usage"] : {};
  for (const given of [rest, delta])
    for (const [name, value] of Object.entries(isJsonObject(given) ? given : {}))
      if (name !== "type") setField(message, name, value);
  for (const [name, value] of Object.entries(isJsonObject(usage) ? usage : {}))
    if (value !== null) setField(known, name, value);
  message["usage"] = known;
}

/** Collects the blocks of one message, which arrive one after the other. */
class BlockAssembler {
  readonly blocks: JsonObject[] = [];
  #open: JsonObject | null = null;
  #json = "";

  get isComplete(): boolean {
    return this.#open === null;
  }

  start({ index, content_block: block }: JsonObject): void {
    if (this.#open !== null || index !== this.blocks.length || !isJsonObject(block))
      throw new Error("the index of a block is not the next one");
    this.#open = { ...block };
    this.#json = "";
    this.blocks.push(this.#open);
  }

  add({ index, delta }: JsonObject): void {
    const block = this.#open;
    if (block === null || index !== this.blocks.length - 1 || !isJsonObject(delta))
      throw new Error("a delta belongs to no open block");
    const type = textOrEmpty(delta["type"]);
    const field = Object.hasOwn(TEXT_DELTAS, type) ? TEXT_DELTAS[type] : undefined;
    if (field !== undefined) block[field] = textOrEmpty(block[field]) + textOrEmpty(delta[field]);
    else if (type === "input_json_delta") this.#json += textOrEmpty(delta["partial_json"]);
    else if (type === "citations_delta") addCitation(block, delta["citation"]);
    else throw new Error("a delta has a type that is not known");
  }

  stop({ index }: JsonObject): void {
    if (this.#open === null || index !== this.blocks.length - 1) throw new Error("no block is open");
    if (this.#json !== "") setField(this.#open, "input", parseBounded(this.#json));
    this.#open = null;
  }
}

function addCitation(block: JsonObject, citation: unknown): void {
  if (!isJsonObject(citation)) throw new Error("a citation is no object");
  const known = block["citations"];
  if (Array.isArray(known)) known.push(citation);
  else block["citations"] = [citation];
}

function encodeMessage(message: JsonObject): string {
  const { stop_reason, stop_sequence, usage, content } = message;
  const counts = isJsonObject(usage) ? usage : {};
  const opening = { ...message, content: [], stop_reason: null, stop_sequence: null };
  let text = namedEvent("message_start", {
    type: "message_start",
    message: { ...opening, usage: { ...counts, output_tokens: 0 } },
  });
  for (const [index, block] of objectsIn(content).entries()) text += encodeBlock(index, block);
  const delta = { stop_reason, stop_sequence: stop_sequence ?? null };
  text += namedEvent("message_delta", { type: "message_delta", delta, usage: counts });
  return text + namedEvent("message_stop", { type: "message_stop" });
}

function encodeBlock(index: number, block: JsonObject): string {
  const { opening, deltas } = openingOf(block);
  let text = namedEvent("content_block_start", {
    type: "content_block_start",
    index,
    content_block: opening,
  });
  for (const delta of deltas)
    text += namedEvent("content_block_delta", { type: "content_block_delta", index, delta });
  return text + namedEvent("content_block_stop", { type: "content_block_stop", index });
}

/** Returns the block as it starts, and the deltas that complete it. A block of another type starts complete. */
function openingOf(block: JsonObject): { opening: JsonObject; deltas: JsonObject[] } {
  const { type, text, thinking, signature, citations } = block;
  if (type === "text") {
    const cited = objectsIn(citations).map((citation) => ({ type: "citations_delta", citation }));
    const opening = { ...block, text: "", ...(Array.isArray(citations) && { citations: [] }) };
    return { opening, deltas: [...cited, { type: "text_delta", text: textOrEmpty(text) }] };
  }
  if (type === "thinking") {
    const deltas: JsonObject[] = [{ type: "thinking_delta", thinking: textOrEmpty(thinking) }];
    if (signature !== undefined) deltas.push({ type: "signature_delta", signature });
    return {
      opening: { ...block, thinking: "", ...(signature !== undefined && { signature: "" }) },
      deltas,
    };
  }
  if (isJsonObject(block["input"])) {
    const delta = { type: "input_json_delta", partial_json: JSON.stringify(block["input"]) };
    return { opening: { ...block, input: {} }, deltas: [delta] };
  }
  return { opening: block, deltas: [] };
}
