// OpenAI moderations. Texts that contain the word "violence" are flagged, so that a test can choose the result.
import { listOf, objectOf, stringOf } from "../loose-json.ts";
import { type FakeResponse, jsonResponse } from "../response.ts";
import { type ApiCall, jsonBody } from "./api.ts";
import { openAiError, openAiHeaders } from "./openai-errors.ts";

const CATEGORIES = [
  "harassment",
  "harassment/threatening",
  "hate",
  "hate/threatening",
  "illicit",
  "illicit/violent",
  "self-harm",
  "self-harm/instructions",
  "self-harm/intent",
  "sexual",
  "sexual/minors",
  "violence",
  "violence/graphic",
];

export function createModeration({ request }: ApiCall): FakeResponse {
  const body = jsonBody(request);
  const inputs = inputsOf(body?.["input"]);
  if (body === null || inputs.length === 0)
    return openAiError(request, 400, "Missing required parameter: 'input'.");
  const moderation = {
    id: `modr-fake${request.serial}`,
    model: stringOf(body["model"], "omni-moderation-latest"),
    results: inputs.map(resultOf),
  };
  return jsonResponse(200, moderation, openAiHeaders(request));
}

/** Several texts get one result each; the parts of one input, texts and images, get one together. */
function inputsOf(input: unknown): string[] {
  if (typeof input === "string") return [input];
  const list = listOf(input);
  if (list.every((entry) => typeof entry === "string")) return list;
  return [list.map((part) => stringOf(objectOf(part)["text"])).join("\n")];
}

function resultOf(text: string): object {
  const flagged = /\bviolence\b/i.test(text);
  const all = <T>(value: (category: string) => T): Record<string, T> =>
    Object.fromEntries(CATEGORIES.map((category) => [category, value(category)]));
  return {
    flagged,
    categories: all((category) => flagged && category === "violence"),
    category_scores: all((category) => (flagged && category === "violence" ? 0.98 : 0.0001)),
    category_applied_input_types: all(() => ["text"]),
  };
}
