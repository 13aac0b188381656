// Writes a chat stream as events of the Responses API while it arrives. Every item is announced, written and closed; the one
// terminal event repeats the whole response. Calls stay open until the end, because chat streams may interleave them.
import type { ReasoningDetail } from "../chat-extensions.ts";
import type {
  ChatCompletionChunk,
  ChatDelta,
  ChatErrorBody,
  ChatFinishReason,
  ChatUsage,
} from "../openai/wire-types.ts";
import { HeldText, ITEM_LENGTH } from "../held-text.ts";
import type { ResponseContext, StreamEncoder } from "../translator.ts";
import { EventWriter } from "./event-writer.ts";
import { copyOf } from "./item-copies.ts";
import { OpenCalls } from "./open-calls.ts";
import { OpenMessage } from "./open-message.ts";
import { OpenReasoning } from "./open-reasoning.ts";
import { createResponse, errorOf, finishResponse, ResponseIds, toResponsesUsage } from "./response-object.ts";
import type { ResponseObject } from "./wire-types.ts";

export class ResponseStreamEncoder implements StreamEncoder {
  readonly #context: ResponseContext;
  readonly #writer = new EventWriter();
  #response: ResponseObject | null = null;
  #ids = new ResponseIds(null);
  #calls: OpenCalls | null = null;
  #message: OpenMessage | null = null;
  #reasoning: OpenReasoning | null = null;
  #finishReason: ChatFinishReason | null = null;
  #usage: ChatUsage | null = null;
  /** The last event repeats all text, so it is kept. */
  readonly #heldText = new HeldText();

  constructor(context: ResponseContext) {
    this.#context = context;
  }

  chunk(chunk: ChatCompletionChunk): void {
    if (this.#response === null) this.#start(chunk.id, chunk.created, chunk.model);
    this.#usage = chunk.usage ?? this.#usage;
    const choice = chunk.choices[0];
    if (choice === undefined) return;
    this.#encodeDelta(choice.delta);
    this.#finishReason = choice.finish_reason ?? this.#finishReason;
  }

  error(body: ChatErrorBody): void {
    const response = this.#response ?? this.#start(null, null, null);
    response.status = "failed";
    response.error = errorOf(body);
    this.#writer.write("response.failed", { response });
  }

  done(): void {
    const response = this.#response ?? this.#start(null, null, null);
    finishResponse(response, this.#finishReason, toResponsesUsage(this.#usage));
    const status = response.status === "incomplete" ? "incomplete" : "completed";
    this.#closeReasoning(null);
    this.#closeMessage(status);
    this.#calls?.close(status);
    if (this.#context.copiesItems === true) this.#writeCopy(response);
    this.#writer.write(`response.${status}`, { response });
  }

  take(): string {
    return this.#writer.take();
  }

  #writeCopy({ output }: ResponseObject): void {
    const item = copyOf(output);
    if (item === null) return;
    for (const event of ["added", "done"])
      this.#writer.write(`response.output_item.${event}`, { output_index: output.length, item });
    output.push(item);
  }

  #start(id: unknown, createdAt: unknown, model: unknown): ResponseObject {
    this.#ids = new ResponseIds(id);
    const response = createResponse({ ids: this.#ids, createdAt, model }, this.#context, []);
    this.#response = response;
    this.#calls = new OpenCalls(this.#writer, response.output, this.#ids, this.#context);
    this.#writer.write("response.created", { response });
    this.#writer.write("response.in_progress", { response });
    return response;
  }

  #encodeDelta(delta: ChatDelta): void {
    const { reasoning_content: reasoning = "", content = "", refusal = "", tool_calls: calls = [] } = delta;
    this.#heldText.add(reasoning.length + content.length + refusal.length);
    if (reasoning !== "") this.#writeReasoning(reasoning);
    for (const detail of delta.reasoning_details ?? []) {
      this.#heldText.add(ITEM_LENGTH + (detail.text?.length ?? 0) + (detail.data?.length ?? 0));
      this.#addDetail(detail);
    }
    if (content !== "") this.#openMessage().writeText(content);
    if (refusal !== "") this.#openMessage().writeRefusal(refusal);
    if (calls.length === 0) return;
    this.#closeReasoning(null);
    this.#closeMessage("completed");
    for (const call of calls) {
      this.#heldText.add(call.function.arguments.length + (call.id === undefined ? 0 : ITEM_LENGTH));
      this.#calls?.encode(call);
    }
  }

  #writeReasoning(text: string): void {
    this.#closeMessage("completed");
    this.#reasoning ??= new OpenReasoning(this.#writer, this.#response?.output ?? [], this.#ids);
    this.#reasoning.write(text);
  }

  /** A detail arrives after its text. */
  #addDetail(detail: ReasoningDetail): void {
    this.#closeMessage("completed");
    if (this.#reasoning === null) {
      this.#reasoning = new OpenReasoning(this.#writer, this.#response?.output ?? [], this.#ids);
      const text = detail.text ?? detail.summary ?? "";
      if (text !== "") this.#reasoning.write(text);
    }
    this.#closeReasoning(detail);
  }

  #closeReasoning(detail: ReasoningDetail | null): void {
    this.#reasoning?.close(detail);
    this.#reasoning = null;
  }

  #openMessage(): OpenMessage {
    this.#closeReasoning(null);
    this.#message ??= new OpenMessage(this.#writer, this.#response?.output ?? [], this.#ids);
    return this.#message;
  }

  #closeMessage(status: "completed" | "incomplete"): void {
    this.#message?.close(status);
    this.#message = null;
  }
}
