// Converts text completions, the predecessor of chat completions, between whole responses and event streams.
import type { JsonObject } from "../../base/json.ts";
import { textOrEmpty } from "../json-values.ts";
import { CHAT_STREAM_DONE } from "../openai/wire-types.ts";
import { formatSse, type SseEvent } from "../sse.ts";
import type { StreamAssembly } from "./assembly.ts";
import { choiceFor, chunksOf, copyChunkFields, inOrder, isFinished, withChatUsage } from "./chat-assembly.ts";
import { objectsIn, plainEvent, withEvent } from "./read-events.ts";

export const COMPLETIONS_ASSEMBLY: StreamAssembly = {
  isComplete: (response) => isFinished(objectsIn(response["choices"])),
  assemble: assembleCompletion,
  encode: encodeCompletion,
  withUsage: withChatUsage,
};

function assembleCompletion(events: readonly SseEvent[]): JsonObject | null {
  const chunks = chunksOf(events);
  if (chunks === null) return null;
  const response: JsonObject = { object: "text_completion" };
  const choices = new Map<number, JsonObject>();
  for (const chunk of chunks) {
    copyChunkFields(chunk, response);
    for (const { text, logprobs, finish_reason, ...rest } of objectsIn(chunk["choices"])) {
      if (logprobs !== undefined && logprobs !== null) throw new Error("probabilities are not assembled");
      const choice = choiceFor(choices, rest);
      choice["text"] = textOrEmpty(choice["text"]) + textOrEmpty(text);
      choice["logprobs"] = null;
      if (typeof finish_reason === "string") choice["finish_reason"] = finish_reason;
    }
  }
  const assembled = inOrder(choices);
  if (!isFinished(assembled)) return null;
  response["choices"] = assembled;
  if (response["usage"] === null) Reflect.deleteProperty(response, "usage");
  return response;
}

function encodeCompletion({ choices, usage, ...fields }: JsonObject, includesUsage: boolean): string {
  let text = "";
  for (const choice of objectsIn(choices))
    text = withEvent(
      text,
      plainEvent({ ...fields, choices: [choice], ...(includesUsage && { usage: null }) }),
    );
  if (includesUsage && usage !== undefined) text += plainEvent({ ...fields, choices: [], usage });
  return text + formatSse({ data: CHAT_STREAM_DONE });
}
