// Anthropic Messages and its token counter: reads the requests and creates the responses, as JSON or as named SSE events.
import type { ChatRequest, ChatReply } from "../conversation.ts";
import { composeReply, countModelTurns, countWords, lastOf, splitPieces, toolOf } from "../conversation.ts";
import { type JsonObject, listOf, objectOf, stringOf, textOf } from "../loose-json.ts";
import type { ReceivedRequest } from "../recorded-request.ts";
import { type FakeResponse, jsonResponse, renderPieces, sseEvent, streamResponse } from "../response.ts";
import { type ApiCall, jsonBody } from "./api.ts";
import { anthropicError, anthropicHeaders } from "./anthropic-errors.ts";

export function respondToMessages(call: ApiCall): FakeResponse {
  const { request, behavior, providerName } = call;
  const read = readRequest(request, "max_tokens");
  if ("status" in read) return read;
  const { chat } = read;
  const reply = composeReply(chat, behavior, providerName);
  const headers = anthropicHeaders(request);
  if (!chat.stream) return jsonResponse(200, message(request, reply), headers);
  return streamResponse(events(request, reply), headers);
}

export function countMessageTokens({ request, behavior }: ApiCall): FakeResponse {
  const read = readRequest(request, null);
  if ("status" in read) return read;
  const counted = { input_tokens: behavior.usage?.input ?? Math.max(1, read.chat.inputWords) };
  return jsonResponse(200, counted, anthropicHeaders(request));
}

/** Returns the request, or the response that reports a problem with it. */
function readRequest(
  request: ReceivedRequest,
  numberField: string | null,
): { chat: ChatRequest } | FakeResponse {
  if (request.header("anthropic-version") === undefined) {
    return anthropicError(request, 400, "anthropic-version: header is required");
  }
  const body = jsonBody(request);
  if (body === null) return anthropicError(request, 400, "The request body is not valid JSON");
  if (listOf(body["messages"]).length === 0) return anthropicError(request, 400, "messages: Field required");
  if (numberField !== null && typeof body[numberField] !== "number")
    return anthropicError(request, 400, `${numberField}: Field required`);
  if (body["model"] === "missing-model") return anthropicError(request, 404, "model: missing-model");
  return { chat: readChatRequest(body) };
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
    modelTurns: countModelTurns(messages, (entry) => entry["role"] === "assistant"),
    wantsThinking: ["enabled", "adaptive"].includes(stringOf(objectOf(body["thinking"])["type"])),
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

/** In this format the input tokens do not include the cached ones. */
function usageOf(reply: ChatReply, outputTokens: number): JsonObject {
  return {
    input_tokens: Math.max(0, reply.inputTokens - reply.cachedTokens),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: reply.cachedTokens,
    output_tokens: outputTokens,
    service_tier: "standard",
  };
}

function message(request: ReceivedRequest, reply: ChatReply): JsonObject {
  const thinking =
    reply.thinking === null
      ? []
      : [{ type: "thinking", thinking: reply.thinking, signature: signatureOf(request) }];
  const text = reply.hasText ? [{ type: "text", text: reply.text }] : [];
  const calls = reply.calls.map((call, index) => ({
    type: "tool_use",
    id: callId(request, index),
    name: call.name,
    input: call.arguments,
  }));
  return {
    ...envelope(request, reply),
    content: [...thinking, ...text, ...calls],
    stop_reason: calls.length > 0 ? "tool_use" : "end_turn",
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
  yield namedEvent({ type: "message_start", message: envelope(request, reply) });
  let index = 0;
  for (const block of blocks(request, reply)) {
    yield namedEvent({ type: "content_block_start", index, content_block: block.start });
    if (index === 0) yield namedEvent({ type: "ping" });
    for (const delta of block.deltas(index)) yield delta;
    yield namedEvent({ type: "content_block_stop", index });
    index++;
  }
  yield namedEvent({
    type: "message_delta",
    delta: { stop_reason: reply.calls.length > 0 ? "tool_use" : "end_turn", stop_sequence: null },
    usage: { output_tokens: reply.outputTokens },
  });
  yield namedEvent({ type: "message_stop" });
}

interface Block {
  start: JsonObject;
  deltas(index: number): Iterable<Uint8Array>;
}

function blocks(request: ReceivedRequest, reply: ChatReply): Block[] {
  const { thinking } = reply;
  const deltaEvent = (index: number, delta: JsonObject): Uint8Array =>
    namedEvent({ type: "content_block_delta", index, delta });
  const all: Block[] = [];
  if (thinking !== null) {
    all.push({
      start: { type: "thinking", thinking: "", signature: "" },
      deltas: (index) => [
        deltaEvent(index, { type: "thinking_delta", thinking }),
        deltaEvent(index, { type: "signature_delta", signature: signatureOf(request) }),
      ],
    });
  }
  if (reply.hasText) {
    all.push({
      start: { type: "text", text: "" },
      deltas: (index) =>
        renderPieces(reply.pieces, (text) => deltaEvent(index, { type: "text_delta", text })),
    });
  }
  for (const [position, call] of reply.calls.entries()) {
    all.push({
      start: { type: "tool_use", id: callId(request, position), name: call.name, input: {} },
      deltas: (index) =>
        ["", ...splitPieces(JSON.stringify(call.arguments))].map((piece) =>
          deltaEvent(index, { type: "input_json_delta", partial_json: piece }),
        ),
    });
  }
  return all;
}

function signatureOf(request: ReceivedRequest): string {
  return Buffer.from(`thinking of request ${request.serial}`).toString("base64");
}

function callId(request: ReceivedRequest, index: number): string {
  return `toolu_fake${request.serial}_${index}`;
}
