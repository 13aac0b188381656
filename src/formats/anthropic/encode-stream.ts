// Translates a chat stream to the events of an Anthropic message while it arrives: blocks one after the other, each with
// a start and a stop, and the last two events only when the chat stream is complete.
import { HeldText, ITEM_LENGTH } from "../held-text.ts";
import type { ReasoningDetail } from "../chat-extensions.ts";
import type {
  ChatCompletionChunk,
  ChatDelta,
  ChatErrorBody,
  ChatFinishReason,
  ChatUsage,
} from "../openai/wire-types.ts";
import type { ResponseContext, StreamEncoder } from "../translator.ts";
import { encodeStreamError } from "./encode-error.ts";
import { toAnthropicUsage, toStop } from "./encode-response.ts";
import { toThinkingBlock, UNSIGNED } from "./thinking-blocks.ts";
import type { AnthropicResponseBlock, AnthropicUsage } from "./wire-types.ts";

const NO_USAGE: AnthropicUsage = {
  input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 0,
};

/** A tool call whose block has not started. Providers may interleave calls; the blocks of a message follow each other. */
interface WaitingCall {
  id: string;
  name: string;
  arguments: string;
}

export class MessageStreamEncoder implements StreamEncoder {
  readonly #requestedModel: string | null;
  readonly #renamedTools: ResponseContext["renamedTools"];
  #output = "";
  #isStarted = false;
  /** Reasoning that the client sends back, waiting for the next block. */
  #redacted: AnthropicResponseBlock[] = [];
  #nextIndex = 0;
  /** The block that has started last and has not stopped; null if there is none. */
  #openBlock: "text" | "thinking" | "tool_use" | null = null;
  /** Whether the block that has started last is a text or a tool call. */
  #endsWithAnswer = false;
  /** The index of the tool call whose block is open. */
  #openCall = -1;
  readonly #waitingCalls = new Map<number, WaitingCall>();
  /** Text of waiting calls, redacted reasoning and a refusal. */
  readonly #heldText = new HeldText();
  #hasCalls = false;
  #finishReason: ChatFinishReason | null = null;
  #stopSequence: string | undefined;
  #hasText = false;
  #refusal: string | null = null;
  /** Whether the refusal is written as text. */
  #isRefusalText = false;
  #usage: ChatUsage | null = null;

  constructor({ model, renamedTools }: ResponseContext) {
    this.#requestedModel = model;
    this.#renamedTools = renamedTools;
  }

  chunk(chunk: ChatCompletionChunk): void {
    this.#start(chunk.id, chunk.model);
    if (chunk.usage !== undefined && chunk.usage !== null) this.#usage = chunk.usage;
    for (const { delta, finish_reason, stop_sequence } of chunk.choices) {
      this.#addDelta(delta);
      if (finish_reason !== null) this.#finishReason = finish_reason;
      if (stop_sequence !== undefined) this.#stopSequence = stop_sequence;
    }
  }

  error(body: ChatErrorBody): void {
    this.#write("error", encodeStreamError(body));
  }

  done(): void {
    this.#start("", this.#requestedModel ?? "");
    this.#stopBlock();
    this.#startWaitingCalls();
    this.#stopBlock();
    if (!this.#endsWithAnswer) this.#writeRedacted();
    const usage = this.#usage === null ? NO_USAGE : toAnthropicUsage(this.#usage);
    const delta = toStop(this.#finishReason, this.#hasCalls, this.#refusal, this.#stopSequence);
    this.#write("message_delta", { type: "message_delta", delta, usage });
    this.#write("message_stop", { type: "message_stop" });
  }

  take(): string {
    const output = this.#output;
    this.#output = "";
    return output;
  }

  #start(id: string, model: string): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    const stop = { stop_reason: null, stop_sequence: null, stop_details: null };
    const message = { id, type: "message", role: "assistant", model, content: [], ...stop, usage: NO_USAGE };
    this.#write("message_start", { type: "message_start", message });
    this.#write("ping", { type: "ping" });
  }

  #addDelta(delta: ChatDelta): void {
    if (delta.reasoning_content !== undefined && delta.reasoning_content !== "")
      this.#addReasoning(delta.reasoning_content);
    for (const detail of delta.reasoning_details ?? []) this.#addDetail(detail);
    if (delta.content !== undefined && delta.content !== "") {
      this.#hasText = true;
      this.#addText(delta.content);
    }
    if (delta.refusal !== undefined && delta.refusal !== "") {
      this.#heldText.add(delta.refusal.length);
      // The text for the user if there is no other, as in whole messages.
      const isText = this.#refusal === null ? !this.#hasText : this.#isRefusalText;
      this.#isRefusalText = isText;
      this.#refusal = (this.#refusal ?? "") + delta.refusal;
      if (isText) this.#addText(delta.refusal);
    }
    for (const call of delta.tool_calls ?? [])
      this.#addCall(call.index, call.id ?? "", call.function.name ?? "", call.function.arguments);
  }

  #addReasoning(thinking: string): void {
    this.#open("thinking", { type: "thinking", thinking: "", signature: "" });
    this.#writeDelta({ type: "thinking_delta", thinking });
  }

  /** The text of a detail has already arrived as `reasoning_content`, unless the provider withholds it. */
  #addDetail(detail: ReasoningDetail): void {
    const block = toThinkingBlock(detail);
    if (block.type === "thinking") {
      if (this.#openBlock !== "thinking" && block.thinking !== "") this.#addReasoning(block.thinking);
      this.#open("thinking", { type: "thinking", thinking: "", signature: "" });
      this.#stopBlock(block.signature);
    } else {
      this.#heldText.add(ITEM_LENGTH + block.data.length);
      this.#redacted.push(block);
    }
  }

  /** Clients take the last block for the answer, so such blocks are never written after a text or a tool call. */
  #writeRedacted(): void {
    for (const block of this.#redacted) {
      this.#writeStart(block);
      this.#writeStop();
    }
    this.#redacted = [];
  }

  #addText(text: string): void {
    this.#open("text", { type: "text", text: "" });
    this.#writeDelta({ type: "text_delta", text });
  }

  #addCall(index: number, id: string, name: string, text: string): void {
    this.#hasCalls = true;
    if (this.#openBlock === "tool_use" && this.#openCall === index) {
      if (text !== "") this.#writeDelta({ type: "input_json_delta", partial_json: text });
      return;
    }
    const waiting = this.#waitingCalls.get(index);
    this.#heldText.add(text.length + (waiting === undefined ? ITEM_LENGTH : 0));
    if (waiting !== undefined) waiting.arguments += text;
    else if (this.#openBlock === "tool_use") this.#waitingCalls.set(index, { id, name, arguments: text });
    else this.#startCall(index, { id, name, arguments: text });
  }

  #startCall(index: number, { id, name, arguments: text }: WaitingCall): void {
    this.#open("tool_use", { type: "tool_use", id, name: this.#renamedTools?.get(name) ?? name, input: {} });
    this.#openCall = index;
    if (text !== "") this.#writeDelta({ type: "input_json_delta", partial_json: text });
  }

  #startWaitingCalls(): void {
    for (const [index, call] of this.#waitingCalls) {
      this.#stopBlock();
      this.#startCall(index, call);
    }
    this.#waitingCalls.clear();
  }

  #open(kind: "text" | "thinking" | "tool_use", block: AnthropicResponseBlock): void {
    if (this.#openBlock === kind && kind !== "tool_use") return;
    this.#stopBlock();
    if (kind !== "tool_use") this.#startWaitingCalls();
    this.#stopBlock();
    this.#writeRedacted();
    this.#openBlock = kind;
    this.#endsWithAnswer = kind !== "thinking";
    this.#writeStart(block);
  }

  #stopBlock(signature: string = UNSIGNED): void {
    if (this.#openBlock === null) return;
    if (this.#openBlock === "thinking" && signature !== "")
      this.#writeDelta({ type: "signature_delta", signature });
    this.#openBlock = null;
    this.#writeStop();
  }

  #writeStart(block: AnthropicResponseBlock): void {
    this.#write("content_block_start", {
      type: "content_block_start",
      index: this.#nextIndex,
      content_block: block,
    });
  }

  #writeDelta(delta: object): void {
    this.#write("content_block_delta", { type: "content_block_delta", index: this.#nextIndex, delta });
  }

  #writeStop(): void {
    this.#write("content_block_stop", { type: "content_block_stop", index: this.#nextIndex });
    this.#nextIndex += 1;
  }

  /** JSON has no line breaks, so an event is one data line. */
  #write(event: string, data: object): void {
    this.#output += `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
  }
}
