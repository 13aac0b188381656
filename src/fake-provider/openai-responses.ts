// The OpenAI wire format: reads Chat Completions requests and creates the responses, as JSON or as SSE events.
import { type FakeResponse, jsonResponse, renderPieces, sseEvent, streamResponse } from "./response.ts";
import type { Behavior, HeaderPair } from "./behavior.ts";
import type { ChatRequest, ChatReply, Tool } from "./conversation.ts";
import { composeReply, countWords, lastOf, splitArguments, toolOf } from "./conversation.ts";
import { type JsonObject, isObject, listOf, objectOf, stringOf, textOf } from "./loose-json.ts";
import type { ReceivedRequest } from "./recorded-request.ts";

export function respondToOpenAiChat(
  request: ReceivedRequest,
  behavior: Behavior,
  providerName: string,
): FakeResponse {
  if (request.header("authorization") === "Bearer invalid") return openAiError(request, 401);
  let body: unknown;
  try {
    body = request.json();
  } catch {
    return openAiError(request, 400, "We could not parse the JSON body of your request.");
  }
  if (!isObject(body) || listOf(body["messages"]).length === 0) {
    return openAiError(request, 400, "Missing required parameter: 'messages'.");
  }
  if (body["model"] === "missing-model") return openAiError(request, 404);
  if (behavior.refuseStreamOptions !== undefined && body["stream_options"] !== undefined) {
    return openAiError(request, behavior.refuseStreamOptions, "Unknown parameter: 'stream_options'.");
  }
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
    inputWords: words,
  };
}

function readToolChoice(choice: unknown): ChatRequest["toolChoice"] {
  if (choice === "none" || choice === "required") return choice;
  const name = stringOf(objectOf(objectOf(choice)["function"])["name"]);
  return name === "" ? "auto" : { name };
}

function usageOf(reply: ChatReply): JsonObject {
  return {
    prompt_tokens: reply.inputTokens,
    completion_tokens: reply.outputTokens,
    total_tokens: reply.inputTokens + reply.outputTokens,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
  };
}

function completion(request: ReceivedRequest, reply: ChatReply): JsonObject {
  const calls = reply.calls.map((call, index) => ({
    id: callId(request, index),
    type: "function",
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }));
  const called = calls.length > 0;
  const message = { role: "assistant", content: called ? null : [...reply.pieces].join(""), refusal: null };
  return {
    id: `chatcmpl-fake${request.serial}`,
    object: "chat.completion",
    created: nowInSeconds(),
    model: reply.model,
    choices: [
      {
        index: 0,
        message: called ? { ...message, tool_calls: calls } : message,
        logprobs: null,
        finish_reason: called ? "tool_calls" : "stop",
      },
    ],
    usage: usageOf(reply),
    system_fingerprint: "fp_fake",
  };
}

function* chunks(request: ReceivedRequest, reply: ChatReply, includeUsage: boolean): Generator<Uint8Array> {
  const frame = {
    id: `chatcmpl-fake${request.serial}`,
    object: "chat.completion.chunk",
    created: nowInSeconds(),
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
  yield chunk({ role: "assistant", content: called ? null : "", refusal: null });
  yield* called
    ? toolCallChunks(request, reply, chunk)
    : renderPieces(reply.pieces, (content) => chunk({ content }));
  yield chunk({}, called ? "tool_calls" : "stop");
  if (includeUsage) yield sseEvent({ ...frame, choices: [], usage: usageOf(reply) });
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
    for (const piece of splitArguments(call)) {
      yield chunk({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }
}

export function openAiModels(request: ReceivedRequest, providerName: string): FakeResponse {
  const data = ["gpt-fake", "gpt-fake-mini", "claude-fake"].map((id) => ({
    id,
    object: "model",
    created: 1_700_000_000,
    owned_by: providerName,
  }));
  return jsonResponse(200, { object: "list", data }, openAiHeaders(request));
}

const ERRORS: Record<number, { type: string; code: string | null; message: string }> = {
  401: { type: "invalid_request_error", code: "invalid_api_key", message: "Incorrect API key provided." },
  404: { type: "invalid_request_error", code: "model_not_found", message: "The model does not exist." },
  429: { type: "requests", code: "rate_limit_exceeded", message: "Rate limit reached for requests." },
  503: { type: "server_error", code: null, message: "The engine is currently overloaded." },
};

export function openAiErrorBody(status: number, message?: string): JsonObject {
  const {
    message: usual,
    type,
    code,
  } = ERRORS[status] ?? {
    type: status < 500 ? "invalid_request_error" : "server_error",
    code: null,
    message: status < 500 ? "The request is invalid." : "The server had an error processing your request.",
  };
  return { error: { message: message ?? usual, type, param: null, code } };
}

export function openAiError(request: ReceivedRequest, status: number, message?: string): FakeResponse {
  return jsonResponse(status, openAiErrorBody(status, message), openAiHeaders(request));
}

export function openAiRateLimitHeaders(retryAfter: number | string): HeaderPair[] {
  return [
    ["Retry-After", String(retryAfter)],
    ["X-RateLimit-Limit-Requests", "60"],
    ["X-RateLimit-Limit-Tokens", "150000"],
    ["X-RateLimit-Remaining-Requests", "0"],
    ["X-RateLimit-Remaining-Tokens", "149984"],
    ["X-RateLimit-Reset-Requests", typeof retryAfter === "number" ? `${retryAfter}s` : "1s"],
    ["X-RateLimit-Reset-Tokens", "6ms"],
  ];
}

function openAiHeaders(request: ReceivedRequest): HeaderPair[] {
  return [
    ["X-Request-Id", `req_fake${request.serial}`],
    ["OpenAI-Processing-Ms", "1"],
    ["OpenAI-Version", "2020-10-01"],
  ];
}

function callId(request: ReceivedRequest, index: number): string {
  return `call_fake${request.serial}_${index}`;
}

function nowInSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
