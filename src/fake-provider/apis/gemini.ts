// Gemini's generateContent, streamGenerateContent, countTokens and list of models.
import type { ChatReply, ChatRequest, Tool } from "../conversation.ts";
import { composeReply, countModelTurns, countWords, toolOf } from "../conversation.ts";
import { type JsonObject, isObject, listOf, objectOf, stringOf, textOf } from "../loose-json.ts";
import type { ReceivedRequest } from "../recorded-request.ts";
import { type FakeResponse, jsonResponse, renderPieces, sseEvent, streamResponse } from "../response.ts";
import { type ApiCall, jsonBody } from "./api.ts";
import { geminiError } from "./gemini-errors.ts";

export function generateContent(call: ApiCall): FakeResponse {
  const composed = compose(call, false);
  if ("status" in composed) return composed;
  const { reply } = composed;
  const parts = [
    ...thoughtParts(reply),
    ...textParts(call.request, reply),
    ...callParts(call.request, reply),
  ];
  return jsonResponse(200, chunk(call.request, reply, parts, true));
}

/** With `alt=sse` the chunks are SSE events, else the elements of one JSON array. */
export function streamGenerateContent(call: ApiCall): FakeResponse {
  const { request } = call;
  const composed = compose(call, true);
  if ("status" in composed) return composed;
  const query = new URLSearchParams(request.target.slice(request.path.length));
  if (query.get("alt") === "sse") return streamResponse(chunks(request, composed.reply, sseEvent));
  return {
    status: 200,
    headers: [["Content-Type", "application/json; charset=UTF-8"]],
    body: { kind: "stream", pieces: arrayOf(request, composed.reply) },
  };
}

export function countGeminiTokens(call: ApiCall): FakeResponse {
  const { request, behavior } = call;
  const body = jsonBody(request);
  // The contents are given directly, or as a whole request for generateContent.
  const counted = objectOf(body?.["generateContentRequest"] ?? body);
  if (listOf(counted["contents"]).length === 0) return geminiError(request, 400, "contents is not specified");
  const tokens = behavior.usage?.input ?? Math.max(1, readChatRequest(counted, call.name, false).inputWords);
  return jsonResponse(200, { totalTokens: tokens, promptTokensDetails: textTokens(tokens) });
}

const MODELS = ["gemini-fake", "gemini-fake-mini"];

export function listGeminiModels(): FakeResponse {
  return jsonResponse(200, { models: MODELS.map(modelOf) });
}

export function getGeminiModel({ request, name }: ApiCall): FakeResponse {
  return MODELS.includes(name) ? jsonResponse(200, modelOf(name)) : unknownModel(request, name);
}

function modelOf(name: string): JsonObject {
  return {
    name: `models/${name}`,
    version: "001",
    displayName: name,
    inputTokenLimit: 1_048_576,
    outputTokenLimit: 65_536,
    supportedGenerationMethods: ["generateContent", "countTokens"],
  };
}

function unknownModel(request: ReceivedRequest, name: string): FakeResponse {
  return geminiError(request, 404, `models/${name} is not found for API version v1beta.`);
}

/** Returns the reply, or the response that reports a problem with the request. */
function compose(call: ApiCall, stream: boolean): { reply: ChatReply } | FakeResponse {
  const { request, behavior, providerName, name } = call;
  const body = jsonBody(request);
  if (body === null) return geminiError(request, 400, "Invalid JSON payload received.");
  if (listOf(body["contents"]).length === 0) return geminiError(request, 400, "contents is not specified");
  if (name === "missing-model") return unknownModel(request, name);
  return { reply: composeReply(readChatRequest(body, name, stream), behavior, providerName) };
}

function readChatRequest(body: JsonObject, model: string, stream: boolean): ChatRequest {
  const contents = listOf(body["contents"]).map(objectOf);
  const results = listOf(contents.at(-1)?.["parts"])
    .map((part) => objectOf(part)["functionResponse"])
    .filter(isObject);
  const lastUser = contents.findLast(({ role, parts }) => role !== "model" && textOf(parts) !== "");
  const words = contents.reduce((sum, { parts }) => sum + countWords(textOf(parts)), 0);
  const system = objectOf(body["systemInstruction"] ?? body["system_instruction"]);
  const { thinkingConfig } = objectOf(body["generationConfig"]);
  return {
    model,
    stream,
    lastUserText: textOf(lastUser?.["parts"]),
    toolResult: results.length > 0 ? results.map(resultText).join("\n") : null,
    tools: listOf(body["tools"]).flatMap(declaredTools),
    toolChoice: readToolChoice(objectOf(objectOf(body["toolConfig"])["functionCallingConfig"])),
    modelTurns: countModelTurns(contents, (content) => content["role"] === "model"),
    wantsThinking: objectOf(thinkingConfig)["includeThoughts"] === true,
    inputWords: words + countWords(textOf(system["parts"])),
  };
}

/** The result of a function is an object; a text in the customary field is returned without its object. */
function resultText({ response }: JsonObject): string {
  const { result, output } = objectOf(response);
  return typeof result === "string" ? result : typeof output === "string" ? output : JSON.stringify(response);
}

function declaredTools(tool: unknown): Tool[] {
  const declarations = objectOf(tool)["functionDeclarations"] ?? objectOf(tool)["function_declarations"];
  return listOf(declarations).flatMap((declaration) => {
    const field = objectOf(declaration)["parameters"] === undefined ? "parametersJsonSchema" : "parameters";
    return toolOf(declaration, field);
  });
}

function readToolChoice({ mode, allowedFunctionNames }: JsonObject): ChatRequest["toolChoice"] {
  if (mode === "NONE") return "none";
  if (mode !== "ANY") return "auto";
  const name = stringOf(listOf(allowedFunctionNames)[0]);
  return name === "" ? "required" : { name };
}

function thoughtParts({ thinking }: ChatReply): JsonObject[] {
  return thinking === null ? [] : [{ text: thinking, thought: true }];
}

function textParts(request: ReceivedRequest, reply: ChatReply): JsonObject[] {
  if (!reply.hasText) return [];
  return [{ text: reply.text, ...(reply.thinking === null ? {} : signature(request)) }];
}

/** The first of several calls carries the signature, which a client must send back. */
function callParts(request: ReceivedRequest, reply: ChatReply): JsonObject[] {
  return reply.calls.map((call, index) => ({
    functionCall: { id: `fake${request.serial}_${index}`, name: call.name, args: call.arguments },
    ...(index === 0 ? signature(request) : {}),
  }));
}

function signature(request: ReceivedRequest): JsonObject {
  return { thoughtSignature: Buffer.from(`thoughts of request ${request.serial}`).toString("base64") };
}

function textTokens(tokens: number): JsonObject[] {
  return [{ modality: "TEXT", tokenCount: tokens }];
}

/** In this format the candidates' tokens do not include the thoughts. */
function usageOf(reply: ChatReply): JsonObject {
  const { inputTokens, cachedTokens, outputTokens, reasoningTokens } = reply;
  return {
    promptTokenCount: inputTokens,
    ...(cachedTokens > 0 ? { cachedContentTokenCount: cachedTokens } : {}),
    candidatesTokenCount: outputTokens - reasoningTokens,
    ...(reasoningTokens > 0 ? { thoughtsTokenCount: reasoningTokens } : {}),
    totalTokenCount: inputTokens + outputTokens,
    promptTokensDetails: textTokens(inputTokens),
  };
}

function chunk(request: ReceivedRequest, reply: ChatReply, parts: JsonObject[], isLast: boolean): JsonObject {
  const started = { promptTokenCount: reply.inputTokens, totalTokenCount: reply.inputTokens };
  const finish = isLast ? { finishReason: "STOP" } : {};
  return {
    candidates: [{ content: { parts, role: "model" }, ...finish, index: 0 }],
    usageMetadata: isLast ? usageOf(reply) : started,
    modelVersion: reply.model,
    responseId: `fake${request.serial}`,
  };
}

function* chunks(
  request: ReceivedRequest,
  reply: ChatReply,
  render: (value: JsonObject) => Uint8Array,
): Generator<Uint8Array> {
  const thoughts = thoughtParts(reply);
  if (thoughts.length > 0) yield render(chunk(request, reply, thoughts, false));
  if (reply.hasText)
    yield* renderPieces(reply.pieces, (text) => render(chunk(request, reply, [{ text }], false)));
  const calls = callParts(request, reply);
  const end = { text: "", ...(reply.thinking === null ? {} : signature(request)) };
  yield render(chunk(request, reply, calls.length > 0 ? calls : [end], true));
}

function* arrayOf(request: ReceivedRequest, reply: ChatReply): Generator<Uint8Array> {
  let before = "[";
  for (const element of chunks(request, reply, (value) => Buffer.from(JSON.stringify(value)))) {
    yield Buffer.concat([Buffer.from(before), element]);
    before = ",\r\n";
  }
  yield Buffer.from("]");
}
