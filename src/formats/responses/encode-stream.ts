// Writes a chat stream as events of the Responses API while it arrives. Every item is announced, written and closed; the one
// terminal event repeats the whole response. Calls stay open until the end, because chat streams may interleave them.
import { isJsonObject } from "../../base/json.ts";
import type { ReasoningDetail } from "../chat-extensions.ts";
import type {
  ChatCompletionChunk,
  ChatDelta,
  ChatErrorBody,
  ChatFinishReason,
} from "../openai/wire-types.ts";
import type { ResponseContext, StreamEncoder } from "../translator.ts";
import { EventWriter } from "./event-writer.ts";
import { OpenCalls } from "./open-calls.ts";
import { OpenMessage } from "./open-message.ts";
import { OpenReasoning } from "./open-reasoning.ts";
import { createResponse, errorOf, finishResponse, ResponseIds, toResponsesUsage } from "./response-object.ts";
import { textOf } from "./encode-response.ts";
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
  #usage: unknown = null;

  constructor(context: ResponseContext) {
    this.#context = context;
  }

  chunk(chunk: ChatCompletionChunk): void {
    if (this.#response === null) this.#start(chunk.id, chunk.created, chunk.model);
    if (isJsonObject(chunk.usage)) this.#usage = chunk.usage;
    const choice = chunk.choices[0];
    if (choice === undefined) return;
    if (isJsonObject(choice.delta)) this.#encodeDelta(choice.delta);
    if ((choice.finish_reason ?? null) !== null) this.#finishReason = choice.finish_reason;
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
    this.#writer.write(`response.${status}`, { response });
  }

  take(): string {
    return this.#writer.take();
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
    // Some chat providers name the field `reasoning`.
    const reasoning = delta.reasoning_content ?? (isJsonObject(delta) ? delta["reasoning"] : undefined);
    if (typeof reasoning === "string" && reasoning !== "") this.#writeReasoning(reasoning);
    for (const each of delta.reasoning_details ?? []) this.#addDetail(each);
    const text = textOf(delta.content);
    if (text !== "") this.#openMessage().writeText(text);
    if (typeof delta.refusal === "string" && delta.refusal !== "")
      this.#openMessage().writeRefusal(delta.refusal);
    if (!Array.isArray(delta.tool_calls) || delta.tool_calls.length === 0) return;
    this.#closeReasoning(null);
    this.#closeMessage("completed");
    for (const call of delta.tool_calls) this.#calls?.encode(call);
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
