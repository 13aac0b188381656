// The OpenAI Responses API: creates, returns and deletes responses, continues stored ones, and counts input tokens.
import type { ChatReply, ChatRequest, Tool } from "../conversation.ts";
import { composeReply, countModelTurns, countWords, inputOf, lastOf, toolOf } from "../conversation.ts";
import { type JsonObject, isObject, listOf, objectOf, stringOf, textOf } from "../loose-json.ts";
import type { ReceivedRequest } from "../recorded-request.ts";
import { type FakeResponse, jsonResponse, streamResponse } from "../response.ts";
import type { StoredResponse } from "../stored-objects.ts";
import { type ApiCall, jsonBody, ownId, unixSeconds } from "./api.ts";
import { openAiError, openAiHeaders, openAiParameterError } from "./openai-errors.ts";
import { rejectByModel } from "./openai-model-rules.ts";
import { responseEvents } from "./openai-response-events.ts";

interface ResponseRequest {
  readonly body: JsonObject;
  readonly input: readonly unknown[];
  /** The items of the previous response, then the input. */
  readonly conversation: readonly unknown[];
}

export function createResponse(call: ApiCall): FakeResponse {
  const { request, behavior, providerName } = call;
  const read = readRequest(call);
  if ("status" in read) return read;
  const rejection = rejectByModel(request, read.body, "responses", behavior);
  if (rejection !== null) return rejection;
  const chat = readChatRequest(read);
  const reply = composeReply(chat, behavior, providerName);
  const output = outputItems(call, read.body, reply);
  const response = {
    ...envelope(call, read.body, reply),
    status: "completed",
    completed_at: unixSeconds(),
    output,
    usage: usageOf(reply),
  };
  if (read.body["store"] !== false) {
    const stored = { response, input: read.input, conversation: [...read.conversation, ...output] };
    call.stored.responses.add(response.id, stored, JSON.stringify(stored).length);
  }
  const headers = openAiHeaders(request);
  return chat.stream
    ? streamResponse(responseEvents(envelope(call, read.body, reply), response, reply.pieces), headers)
    : jsonResponse(200, response, headers);
}

export function getResponse(call: ApiCall): FakeResponse {
  return withStored(call, ({ response }) => response);
}

export function listResponseInput(call: ApiCall): FakeResponse {
  return withStored(call, ({ input }) => {
    const data = input.map((item, index) => ({ id: `${ownId(call, "in_")}_${index}`, ...objectOf(item) }));
    return { object: "list", data, first_id: data[0]?.id, last_id: data.at(-1)?.id, has_more: false };
  });
}

export function deleteResponse(call: ApiCall): FakeResponse {
  return withStored(call, () => {
    call.stored.responses.delete(call.name);
    return { id: call.name, object: "response", deleted: true };
  });
}

export function countResponseTokens(call: ApiCall): FakeResponse {
  const read = readRequest(call);
  if ("status" in read) return read;
  const tokens = call.behavior.usage?.input ?? Math.max(1, readChatRequest(read).inputWords);
  const counted = { object: "response.input_tokens", input_tokens: tokens };
  return jsonResponse(200, counted, openAiHeaders(call.request));
}

function withStored(call: ApiCall, use: (stored: StoredResponse) => JsonObject): FakeResponse {
  const stored = call.stored.responses.get(call.name);
  if (stored !== undefined) return jsonResponse(200, use(stored), openAiHeaders(call.request));
  return openAiParameterError(call.request, 404, { message: `Response with id '${call.name}' not found.` });
}

/** Returns the request, or the response that reports a problem with it. */
function readRequest({ request, stored }: ApiCall): ResponseRequest | FakeResponse {
  const body = jsonBody(request);
  if (body === null) return openAiError(request, 400, "We could not parse the JSON body of your request.");
  if (body["model"] === "missing-model") return openAiError(request, 404);
  const { input: given, previous_response_id: previousId } = body;
  const input = typeof given === "string" ? [userMessage(given)] : listOf(given);
  if (input.length === 0)
    return openAiParameterError(request, 400, {
      message: "Missing required parameter: 'input'.",
      param: "input",
      code: "missing_required_parameter",
    });
  if (typeof previousId !== "string") return { body, input, conversation: input };
  const previous = stored.responses.get(previousId);
  if (previous !== undefined) return { body, input, conversation: [...previous.conversation, ...input] };
  // OpenAI responds with 400 here, and with 404 only where the id is in the path.
  return openAiParameterError(request, 400, {
    message: `Previous response with id '${previousId}' not found.`,
    param: "previous_response_id",
    code: "previous_response_not_found",
  });
}

function userMessage(text: string): JsonObject {
  return { type: "message", role: "user", content: [{ type: "input_text", text }] };
}

export function readChatRequest({ body, conversation }: ResponseRequest): ChatRequest {
  const results = conversation.slice(conversation.findLastIndex((item) => !isToolResult(objectOf(item))) + 1);
  const words = conversation.reduce<number>((sum, item) => sum + countWords(itemText(objectOf(item))), 0);
  return {
    model: stringOf(body["model"], "fake-model"),
    stream: body["stream"] === true,
    lastUserText: itemText(objectOf(lastOf(conversation, "user"))),
    toolResult: results.length > 0 ? results.map((item) => itemText(objectOf(item))).join("\n") : null,
    tools: listOf(body["tools"]).flatMap(readTool),
    toolChoice: readToolChoice(body["tool_choice"]),
    modelTurns: countModelTurns(conversation, isFromModel),
    wantsThinking: isObject(body["reasoning"]) && body["reasoning"]["effort"] !== "none",
    inputWords: words + countWords(textOf(body["instructions"])),
  };
}

function readTool(declaration: unknown): Tool[] {
  const custom = objectOf(declaration)["type"] === "custom";
  return toolOf(declaration, "parameters").map((tool) => ({ ...tool, custom }));
}

function readToolChoice(choice: unknown): ChatRequest["toolChoice"] {
  if (choice === "none" || choice === "required") return choice;
  const name = stringOf(objectOf(choice)["name"]);
  return name === "" ? "auto" : { name };
}

function isToolResult(item: JsonObject): boolean {
  return stringOf(item["type"]).endsWith("_output");
}

/** Everything that has no role and is no tool result, such as a tool call or reasoning, is part of the model's reply. */
function isFromModel(item: JsonObject): boolean {
  if (item["role"] !== undefined) return item["role"] === "assistant";
  return item["type"] !== undefined && item["type"] !== "item_reference" && !isToolResult(item);
}

function itemText(item: JsonObject): string {
  return textOf(item["content"] ?? item["output"] ?? item["arguments"] ?? item["input"]);
}

function envelope(call: ApiCall, body: JsonObject, reply: ChatReply): JsonObject & { id: string } {
  return {
    id: ownId(call, "resp_"),
    object: "response",
    created_at: unixSeconds(),
    status: "in_progress",
    background: false,
    error: null,
    incomplete_details: null,
    instructions: body["instructions"] ?? null,
    max_output_tokens: body["max_output_tokens"] ?? null,
    metadata: body["metadata"] ?? {},
    model: reply.model,
    output: [],
    parallel_tool_calls: body["parallel_tool_calls"] ?? true,
    previous_response_id: body["previous_response_id"] ?? null,
    prompt_cache_key: body["prompt_cache_key"] ?? null,
    reasoning: { effort: null, summary: null, ...objectOf(body["reasoning"]) },
    safety_identifier: body["safety_identifier"] ?? null,
    service_tier: "default",
    store: body["store"] !== false,
    temperature: body["temperature"] ?? 1,
    text: { format: { type: "text" }, ...objectOf(body["text"]) },
    tool_choice: body["tool_choice"] ?? "auto",
    tools: listOf(body["tools"]),
    top_p: body["top_p"] ?? 1,
    truncation: body["truncation"] ?? "disabled",
    usage: null,
    user: body["user"] ?? null,
  };
}

function usageOf(reply: ChatReply): JsonObject {
  return {
    input_tokens: reply.inputTokens,
    input_tokens_details: { cached_tokens: reply.cachedTokens, cache_write_tokens: 0 },
    output_tokens: reply.outputTokens,
    output_tokens_details: { reasoning_tokens: reply.reasoningTokens },
    total_tokens: reply.inputTokens + reply.outputTokens,
  };
}

export function outputItems({ request }: ApiCall, body: JsonObject, reply: ChatReply): JsonObject[] {
  const items: JsonObject[] = [];
  if (reply.thinking !== null) items.push(reasoningItem(request, body, reply.thinking));
  if (reply.hasText) {
    items.push({
      id: `msg_fake${request.serial}`,
      type: "message",
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", annotations: [], logprobs: [], text: reply.text }],
    });
  }
  for (const [index, call] of reply.calls.entries()) {
    const own = { status: "completed", call_id: `call_fake${request.serial}_${index}`, name: call.name };
    items.push(
      call.custom
        ? { id: `ctc_fake${request.serial}_${index}`, type: "custom_tool_call", ...own, input: inputOf(call) }
        : {
            id: `fc_fake${request.serial}_${index}`,
            type: "function_call",
            ...own,
            arguments: inputOf(call),
          },
    );
  }
  return items;
}

function reasoningItem(request: ReceivedRequest, body: JsonObject, thinking: string): JsonObject {
  const summary = stringOf(objectOf(body["reasoning"])["summary"]);
  const isEncrypted = listOf(body["include"]).includes("reasoning.encrypted_content");
  const encrypted = Buffer.from(`reasoning of request ${request.serial}`).toString("base64");
  return {
    id: `rs_fake${request.serial}`,
    type: "reasoning",
    summary: summary === "" ? [] : [{ type: "summary_text", text: thinking }],
    ...(isEncrypted ? { encrypted_content: encrypted } : {}),
  };
}
