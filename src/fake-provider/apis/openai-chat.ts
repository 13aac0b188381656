// OpenAI Chat Completions: reads the requests and creates the responses, as JSON or as SSE events.
import type { ChatRequest, ChatReply, Tool } from "../conversation.ts";
import { composeReply, countModelTurns, countWords, lastOf, splitPieces, toolOf } from "../conversation.ts";
import { type JsonObject, listOf, objectOf, stringOf, textOf } from "../loose-json.ts";
import type { ReceivedRequest } from "../recorded-request.ts";
import { type FakeResponse, jsonResponse, renderPieces, sseEvent, streamResponse } from "../response.ts";
import { type ApiCall, jsonBody, unixSeconds } from "./api.ts";
import { openAiError, openAiHeaders } from "./openai-errors.ts";
import { rejectByModel } from "./openai-model-rules.ts";

export function respondToChat({ request, behavior, providerName }: ApiCall): FakeResponse {
  const body = jsonBody(request);
  if (body === null) return openAiError(request, 400, "We could not parse the JSON body of your request.");
  if (listOf(body["messages"]).length === 0)
    return openAiError(request, 400, "Missing required parameter: 'messages'.");
  if (body["model"] === "missing-model") return openAiError(request, 404);
  if (behavior.refuseStreamOptions !== undefined && body["stream_options"] !== undefined) {
    return openAiError(request, behavior.refuseStreamOptions, "Unknown parameter: 'stream_options'.");
  }
  const rejection = rejectByModel(request, body, "chat", behavior);
  if (rejection !== null) return rejection;
  const chat = readChatRequest(body);
  const reply = composeReply(chat, behavior, providerName);
  const headers = openAiHeaders(request);
  if (!chat.stream) return jsonResponse(200, completion(request, reply), headers);
  const includeUsage = objectOf(body["stream_options"])["include_usage"] === true;
  return streamResponse(chunks(request, reply, includeUsage), headers);
}

function readChatRequest(body: JsonObject): ChatRequest {
  const messages = listOf(body["messages"]);
  const last = objectOf(messages.at(-1));
  const words = messages.reduce<number>(
    (sum, message) => sum + countWords(textOf(objectOf(message)["content"])),
    0,
  );
  return {
    model: stringOf(body["model"], "fake-model"),
    stream: body["stream"] === true,
    lastUserText: textOf(objectOf(lastOf(messages, "user"))["content"]),
    toolResult: last["role"] === "tool" ? textOf(last["content"]) : null,
    tools: listOf(body["tools"]).flatMap((tool): Tool[] => toolOf(objectOf(tool)["function"], "parameters")),
    toolChoice: readToolChoice(body["tool_choice"]),
    modelTurns: countModelTurns(messages, (message) => message["role"] === "assistant"),
    // The API does not return thinking.
    wantsThinking: false,
    inputWords: words,
  };
}

function readToolChoice(choice: unknown): ChatRequest["toolChoice"] {
  if (choice === "none" || choice === "required") return choice;
  const name = stringOf(objectOf(objectOf(choice)["function"])["name"]);
  return name === "" ? "auto" : { name };
}

export function completionUsage(reply: ChatReply): JsonObject {
  return {
    prompt_tokens: reply.inputTokens,
    completion_tokens: reply.outputTokens,
    total_tokens: reply.inputTokens + reply.outputTokens,
    prompt_tokens_details: { cached_tokens: reply.cachedTokens, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reply.reasoningTokens, audio_tokens: 0 },
  };
}

function completion(request: ReceivedRequest, reply: ChatReply): JsonObject {
  const calls = reply.calls.map((call, index) => ({
    id: callId(request, index),
    type: "function",
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }));
  const called = calls.length > 0;
  const message = { role: "assistant", content: reply.hasText ? reply.text : null, refusal: null };
  return {
    id: `chatcmpl-fake${request.serial}`,
    object: "chat.completion",
    created: unixSeconds(),
    model: reply.model,
    choices: [
      {
        index: 0,
        message: called ? { ...message, tool_calls: calls } : message,
        logprobs: null,
        finish_reason: called ? "tool_calls" : "stop",
      },
    ],
    usage: completionUsage(reply),
    system_fingerprint: "fp_fake",
  };
}

function* chunks(request: ReceivedRequest, reply: ChatReply, includeUsage: boolean): Generator<Uint8Array> {
  const frame = {
    id: `chatcmpl-fake${request.serial}`,
    object: "chat.completion.chunk",
    created: unixSeconds(),
    model: reply.model,
    system_fingerprint: "fp_fake",
  };
  // With include_usage every chunk carries the field, null in all but the last.
  const noUsage = includeUsage ? { usage: null } : {};
  const chunk = (delta: JsonObject, finishReason: string | null = null): Uint8Array =>
    sseEvent({
      ...frame,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
      ...noUsage,
    });
  const called = reply.calls.length > 0;
  yield chunk({ role: "assistant", content: reply.hasText ? "" : null, refusal: null });
  if (reply.hasText) yield* renderPieces(reply.pieces, (content) => chunk({ content }));
  yield* toolCallChunks(request, reply, chunk);
  yield chunk({}, called ? "tool_calls" : "stop");
  if (includeUsage) yield sseEvent({ ...frame, choices: [], usage: completionUsage(reply) });
  yield sseEvent("[DONE]");
}

function* toolCallChunks(
  request: ReceivedRequest,
  reply: ChatReply,
  chunk: (delta: JsonObject) => Uint8Array,
): Generator<Uint8Array> {
  for (const [index, call] of reply.calls.entries()) {
    const opening = {
      id: callId(request, index),
      type: "function",
      function: { name: call.name, arguments: "" },
    };
    yield chunk({ tool_calls: [{ index, ...opening }] });
    for (const piece of splitPieces(JSON.stringify(call.arguments))) {
      yield chunk({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }
}

function callId(request: ReceivedRequest, index: number): string {
  return `call_fake${request.serial}_${index}`;
}
