// The Anthropic wire format: reads Messages requests and creates the responses, as JSON or as named SSE events.
import { type FakeResponse, jsonResponse, renderPieces, sseEvent, streamResponse } from "./response.ts";
import type { Behavior, HeaderPair } from "./behavior.ts";
import type { ChatRequest, ChatReply } from "./conversation.ts";
import { composeReply, countWords, lastOf, splitArguments, toolOf } from "./conversation.ts";
import { type JsonObject, isObject, listOf, objectOf, stringOf, textOf } from "./loose-json.ts";
import type { ReceivedRequest } from "./recorded-request.ts";

export function respondToAnthropicMessages(
  request: ReceivedRequest,
  behavior: Behavior,
  providerName: string,
): FakeResponse {
  const credential = request.header("x-api-key") ?? request.header("authorization")?.replace(/^Bearer /, "");
  if (credential === "invalid") return anthropicError(request, 401);
  if (request.header("anthropic-version") === undefined) {
    return anthropicError(request, 400, "anthropic-version: header is required");
  }
  let body: unknown;
  try {
    body = request.json();
  } catch {
    return anthropicError(request, 400, "The request body is not valid JSON");
  }
  if (!isObject(body) || listOf(body["messages"]).length === 0) {
    return anthropicError(request, 400, "messages: Field required");
  }
  if (typeof body["max_tokens"] !== "number") {
    return anthropicError(request, 400, "max_tokens: Field required");
  }
  if (body["model"] === "missing-model") return anthropicError(request, 404, "model: missing-model");
  const chat = readChatRequest(body);
  const reply = composeReply(chat, behavior, providerName);
  const headers = anthropicHeaders(request);
  if (!chat.stream) return jsonResponse(200, message(request, reply), headers);
  return streamResponse(events(request, reply), headers);
}

function readChatRequest(body: JsonObject): ChatRequest {
  const messages = listOf(body["messages"]);
  const lastUser = objectOf(lastOf(messages, "user"));
  const results = listOf(objectOf(messages.at(-1))["content"])
    .map(objectOf)
    .filter((block) => block["type"] === "tool_result");
  const words = messages.reduce<number>(
    (sum, entry) => sum + countWords(textOf(objectOf(entry)["content"])),
    0,
  );
  return {
    model: stringOf(body["model"], "fake-model"),
    stream: body["stream"] === true,
    lastUserText: textOf(lastUser["content"]),
    toolResult: results.length > 0 ? results.map((block) => textOf(block["content"])).join("\n") : null,
    tools: listOf(body["tools"]).flatMap((tool) => toolOf(tool, "input_schema")),
    toolChoice: readToolChoice(objectOf(body["tool_choice"])),
    inputWords: words + countWords(textOf(body["system"])),
  };
}

function readToolChoice(choice: JsonObject): ChatRequest["toolChoice"] {
  switch (choice["type"]) {
    case "none":
      return "none";
    case "any":
      return "required";
    case "tool":
      return { name: stringOf(choice["name"]) };
    default:
      return "auto";
  }
}

function usageOf(reply: ChatReply, outputTokens: number): JsonObject {
  return {
    input_tokens: reply.inputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: outputTokens,
    service_tier: "standard",
  };
}

function message(request: ReceivedRequest, reply: ChatReply): JsonObject {
  const called = reply.calls.length > 0;
  const calls = reply.calls.map((call, index) => ({
    type: "tool_use",
    id: callId(request, index),
    name: call.name,
    input: call.arguments,
  }));
  return {
    ...envelope(request, reply),
    content: called ? calls : [{ type: "text", text: [...reply.pieces].join("") }],
    stop_reason: called ? "tool_use" : "end_turn",
    usage: usageOf(reply, reply.outputTokens),
  };
}

function envelope(request: ReceivedRequest, reply: ChatReply): JsonObject {
  return {
    id: `msg_fake${request.serial}`,
    type: "message",
    role: "assistant",
    model: reply.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: usageOf(reply, 1),
  };
}

/** In this format the SSE event name always equals the `type` field. */
function namedEvent(data: JsonObject & { type: string }): Uint8Array {
  return sseEvent(data, data.type);
}

function* events(request: ReceivedRequest, reply: ChatReply): Generator<Uint8Array> {
  const called = reply.calls.length > 0;
  yield namedEvent({ type: "message_start", message: envelope(request, reply) });
  yield* called ? toolBlocks(request, reply) : textBlock(reply);
  yield namedEvent({
    type: "message_delta",
    delta: { stop_reason: called ? "tool_use" : "end_turn", stop_sequence: null },
    usage: { output_tokens: reply.outputTokens },
  });
  yield namedEvent({ type: "message_stop" });
}

function* textBlock(reply: ChatReply): Generator<Uint8Array> {
  yield namedEvent({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } });
  yield namedEvent({ type: "ping" });
  yield* renderPieces(reply.pieces, (text) =>
    namedEvent({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }),
  );
  yield namedEvent({ type: "content_block_stop", index: 0 });
}

function* toolBlocks(request: ReceivedRequest, reply: ChatReply): Generator<Uint8Array> {
  for (const [index, call] of reply.calls.entries()) {
    const block = { type: "tool_use", id: callId(request, index), name: call.name, input: {} };
    yield namedEvent({ type: "content_block_start", index, content_block: block });
    if (index === 0) yield namedEvent({ type: "ping" });
    for (const piece of ["", ...splitArguments(call)]) {
      const delta = { type: "input_json_delta", partial_json: piece };
      yield namedEvent({ type: "content_block_delta", index, delta });
    }
    yield namedEvent({ type: "content_block_stop", index });
  }
}

const ERRORS: Record<number, [type: string, message: string]> = {
  401: ["authentication_error", "invalid x-api-key"],
  403: ["permission_error", "Your API key does not have permission to use the specified resource."],
  404: ["not_found_error", "The requested resource could not be found."],
  413: ["request_too_large", "Request exceeds the maximum allowed number of bytes."],
  429: ["rate_limit_error", "This request would exceed your organization's rate limit."],
  504: ["timeout_error", "The request timed out."],
  529: ["overloaded_error", "Overloaded"],
};

function anthropicErrorBody(status: number, message?: string): JsonObject {
  const [type, usual] =
    ERRORS[status] ??
    (status < 500
      ? ["invalid_request_error", "The request is invalid."]
      : ["api_error", "Internal server error"]);
  return { type: "error", error: { type, message: message ?? usual } };
}

export function anthropicError(request: ReceivedRequest, status: number, message?: string): FakeResponse {
  const body = { ...anthropicErrorBody(status, message), request_id: `req_fake${request.serial}` };
  return jsonResponse(status, body, anthropicHeaders(request));
}

export function anthropicErrorEvent(): Uint8Array {
  return sseEvent(anthropicErrorBody(529), "error");
}

export function anthropicRateLimitHeaders(retryAfter: number | string): HeaderPair[] {
  const reset = new Date(Date.now() + Number(retryAfter || 0) * 1000 || Date.now()).toISOString();
  return [
    ["Retry-After", String(retryAfter)],
    ["Anthropic-RateLimit-Requests-Limit", "60"],
    ["Anthropic-RateLimit-Requests-Remaining", "0"],
    ["Anthropic-RateLimit-Requests-Reset", reset],
    ["Anthropic-RateLimit-Tokens-Limit", "150000"],
    ["Anthropic-RateLimit-Tokens-Remaining", "149984"],
    ["Anthropic-RateLimit-Tokens-Reset", reset],
  ];
}

function anthropicHeaders(request: ReceivedRequest): HeaderPair[] {
  return [
    ["Request-Id", `req_fake${request.serial}`],
    ["Anthropic-Organization-Id", "org-fake"],
  ];
}

function callId(request: ReceivedRequest, index: number): string {
  return `toolu_fake${request.serial}_${index}`;
}
