// Translates a whole chat completion to a response of the Responses API; encode-stream.ts translates streams.
import type { ReasoningDetail } from "../chat-extensions.ts";
import type { ChatCompletion } from "../openai/wire-types.ts";
import { packDetail } from "../reasoning-details.ts";
import type { ResponseContext } from "../translator.ts";
import { copyOf } from "./item-copies.ts";
import {
  completeCall,
  createCall,
  createResponse,
  finishResponse,
  ResponseIds,
  toResponsesUsage,
} from "./response-object.ts";
import type { MessageItem, OutputItem, ReasoningItem, ResponseObject } from "./wire-types.ts";

export function encodeResponse(completion: ChatCompletion, context: ResponseContext): ResponseObject {
  const ids = new ResponseIds(completion.id);
  const [choice] = completion.choices;
  const output: OutputItem[] = [];
  const { message } = choice;
  addReasoning(output, message, ids);
  addMessage(output, message, ids);
  for (const call of message.tool_calls ?? []) {
    const { name, arguments: json } = call.function;
    const tool = context.clientTools?.get(name) ?? { type: "function", name, namespace: null };
    const item = createCall(tool, call.id, ids, output.length);
    completeCall(item, json);
    output.push(item);
  }
  const { created: createdAt, model } = completion;
  const response = createResponse({ ids, createdAt, model }, context, output);
  finishResponse(response, choice.finish_reason, toResponsesUsage(completion.usage));
  const copy = context.copiesItems === true ? copyOf(output) : null;
  if (copy !== null) output.push(copy);
  return response;
}

type Message = ChatCompletion["choices"][0]["message"];

function addReasoning(output: OutputItem[], message: Message, ids: ResponseIds): void {
  const details = message.reasoning_details ?? [];
  // The texts of the details, if there are any, are the reasoning.
  let text = details.some(hasText) ? "" : (message.reasoning_content ?? "");
  for (const detail of details) {
    output.push(reasoningItem(ids.item("rs", output.length), textOfDetail(detail) + text, detail));
    text = "";
  }
  if (text !== "") output.push(reasoningItem(ids.item("rs", output.length), text, null));
}

function hasText(detail: ReasoningDetail): boolean {
  return textOfDetail(detail) !== "";
}

function textOfDetail({ text, summary }: ReasoningDetail): string {
  return text ?? summary ?? "";
}

export function reasoningItem(id: string, text: string, detail: ReasoningDetail | null): ReasoningItem {
  const item: ReasoningItem = {
    id,
    type: "reasoning",
    summary: text === "" ? [] : [{ type: "summary_text", text }],
  };
  if (detail !== null) item.encrypted_content = packDetail(detail);
  return item;
}

function addMessage(output: OutputItem[], { content, refusal }: Message, ids: ResponseIds): void {
  const parts: MessageItem["content"] = [];
  if (content !== null && content !== "")
    parts.push({ type: "output_text", text: content, annotations: [], logprobs: [] });
  if (refusal !== null && refusal !== "") parts.push({ type: "refusal", refusal });
  if (parts.length === 0) return;
  output.push({
    id: ids.item("msg", output.length),
    type: "message",
    status: "completed",
    role: "assistant",
    content: parts,
  });
}
