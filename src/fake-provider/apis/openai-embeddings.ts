// OpenAI embeddings: vectors of length 1 that depend only on the input, as numbers or as base64.
import { countWords } from "../conversation.ts";
import { listOf, stringOf } from "../loose-json.ts";
import { type FakeResponse, jsonResponse } from "../response.ts";
import { type ApiCall, jsonBody } from "./api.ts";
import { openAiError, openAiHeaders, openAiParameterError } from "./openai-errors.ts";

const DEFAULT_DIMENSIONS = 1536;
const MAX_DIMENSIONS = 4096;

export function createEmbeddings({ request, behavior }: ApiCall): FakeResponse {
  const body = jsonBody(request);
  const inputs = inputsOf(body?.["input"]);
  if (body === null || inputs.length === 0)
    return openAiError(request, 400, "Missing required parameter: 'input'.");
  if (body["model"] === "missing-model") return openAiError(request, 404);
  const dimensions = body["dimensions"] ?? DEFAULT_DIMENSIONS;
  if (typeof dimensions !== "number" || !(dimensions >= 1 && dimensions <= MAX_DIMENSIONS))
    return openAiParameterError(request, 400, { message: "Invalid 'dimensions'.", param: "dimensions" });
  const asBase64 = body["encoding_format"] === "base64";
  const data = inputs.map((input, index) => {
    const vector = vectorOf(input, Math.floor(dimensions));
    const embedding = asBase64 ? Buffer.from(vector.buffer).toString("base64") : [...vector];
    return { object: "embedding", index, embedding };
  });
  const words = inputs.reduce((sum, input) => sum + countWords(input), 0);
  const tokens = behavior.usage?.input ?? Math.max(1, words);
  const model = behavior.model ?? stringOf(body["model"], "fake-model");
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return jsonResponse(200, { object: "list", data, model, usage }, openAiHeaders(request));
}

/** An input may be a text or a list of token ids, and there may be several. */
function inputsOf(input: unknown): string[] {
  if (typeof input === "string") return input === "" ? [] : [input];
  const list = listOf(input);
  if (typeof list[0] === "number") return [list.join(" ")];
  return list.map((entry) => (typeof entry === "string" ? entry : listOf(entry).join(" ")));
}

function vectorOf(input: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  let state = Bun.hash.xxHash32(input);
  for (let index = 0; index < dimensions; index++) {
    // A linear congruential generator is random enough here, and the same everywhere.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    vector[index] = state / 2 ** 31 - 1;
  }
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((value) => value / length);
}
