// OpenAI's legacy text completions: one prompt, or several with one choice each.
import { type ChatReply, composeReply, countWords } from "../conversation.ts";
import { type JsonObject, listOf, objectOf, stringOf } from "../loose-json.ts";
import { type FakeResponse, jsonResponse, renderPieces, sseEvent, streamResponse } from "../response.ts";
import { type ApiCall, jsonBody, unixSeconds } from "./api.ts";
import { completionUsage } from "./openai-chat.ts";
import { openAiError, openAiHeaders } from "./openai-errors.ts";

export function respondToCompletion({ request, behavior, providerName }: ApiCall): FakeResponse {
  const body = jsonBody(request);
  const prompts = promptsOf(body?.["prompt"]);
  if (body === null || prompts.length === 0)
    return openAiError(request, 400, "Missing required parameter: 'prompt'.");
  if (body["model"] === "missing-model") return openAiError(request, 404);
  const stream = body["stream"] === true;
  const replies = prompts.map((prompt) =>
    composeReply(
      {
        model: stringOf(body["model"], "fake-model"),
        stream,
        lastUserText: prompt,
        toolResult: null,
        tools: [],
        toolChoice: "none",
        modelTurns: 0,
        wantsThinking: false,
        inputWords: countWords(prompt),
      },
      behavior,
      providerName,
    ),
  );
  const frame = {
    id: `cmpl-fake${request.serial}`,
    object: "text_completion",
    created: unixSeconds(),
    model: replies[0]?.model,
    system_fingerprint: "fp_fake",
  };
  if (stream) {
    const includeUsage = objectOf(body["stream_options"])["include_usage"] === true;
    return streamResponse(chunks(frame, replies, includeUsage), openAiHeaders(request));
  }
  const choices = replies.map(({ text }, index) => choice(index, text, "stop"));
  return jsonResponse(200, { ...frame, choices, usage: totalUsage(replies) }, openAiHeaders(request));
}

/** A prompt may be a text or a list of token ids, and there may be several. */
function promptsOf(prompt: unknown): string[] {
  if (typeof prompt === "string") return [prompt];
  const list = listOf(prompt);
  if (typeof list[0] === "number") return [list.join(" ")];
  return list.map((entry) => (typeof entry === "string" ? entry : listOf(entry).join(" ")));
}

function choice(index: number, text: string, finishReason: string | null): JsonObject {
  return { index, text, logprobs: null, finish_reason: finishReason };
}

function totalUsage(replies: readonly ChatReply[]): JsonObject {
  const [first] = replies;
  if (first === undefined) return {};
  const sum = (count: (reply: ChatReply) => number): number =>
    replies.reduce((total, reply) => total + count(reply), 0);
  return completionUsage({
    ...first,
    inputTokens: sum((reply) => reply.inputTokens),
    outputTokens: sum((reply) => reply.outputTokens),
  });
}

function* chunks(
  frame: JsonObject,
  replies: readonly ChatReply[],
  includeUsage: boolean,
): Generator<Uint8Array> {
  const noUsage = includeUsage ? { usage: null } : {};
  const chunk = (index: number, text: string, finishReason: string | null): Uint8Array =>
    sseEvent({ ...frame, choices: [choice(index, text, finishReason)], ...noUsage });
  for (const [index, reply] of replies.entries()) {
    yield* renderPieces(reply.pieces, (text) => chunk(index, text, null));
    yield chunk(index, "", "stop");
  }
  if (includeUsage) yield sseEvent({ ...frame, choices: [], usage: totalUsage(replies) });
  yield sseEvent("[DONE]");
}
