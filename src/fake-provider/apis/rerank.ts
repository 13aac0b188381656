// Rerank, in the format that Cohere and Jina share. The score is the share of the query's words that a document contains.
import { countWords } from "../conversation.ts";
import { isObject, listOf, objectOf, stringOf } from "../loose-json.ts";
import { type FakeResponse, jsonResponse } from "../response.ts";
import { type ApiCall, jsonBody } from "./api.ts";
import { openAiError } from "./openai-errors.ts";

export function rerank({ request, behavior }: ApiCall): FakeResponse {
  const body = jsonBody(request);
  const query = stringOf(body?.["query"]);
  const documents = listOf(body?.["documents"]).map((entry) =>
    isObject(entry) ? stringOf(entry["text"]) : stringOf(entry),
  );
  if (body === null || query === "") return openAiError(request, 400, "query is required");
  if (documents.length === 0) return openAiError(request, 400, "documents is required");
  const { top_n: topN, return_documents: returnsDocuments } = objectOf(body);
  const ranked = documents
    .map((text, index) => ({
      index,
      relevance_score: scoreOf(query, text),
      ...(returnsDocuments === true ? { document: { text } } : {}),
    }))
    .sort((one, other) => other.relevance_score - one.relevance_score || one.index - other.index);
  const words = countWords(query) + documents.reduce((sum, text) => sum + countWords(text), 0);
  const tokens = behavior.usage?.input ?? words;
  return jsonResponse(200, {
    id: `rerank-fake${request.serial}`,
    model: behavior.model ?? stringOf(body["model"], "fake-model"),
    results: ranked.slice(0, typeof topN === "number" ? Math.max(0, topN) : undefined),
    meta: {
      api_version: { version: "1" },
      billed_units: { search_units: 1 },
      tokens: { input_tokens: tokens, output_tokens: 0 },
    },
    usage: { total_tokens: tokens },
  });
}

function scoreOf(query: string, text: string): number {
  const wanted = new Set(query.toLowerCase().split(/\W+/));
  const present = new Set(text.toLowerCase().split(/\W+/));
  const common = [...wanted].filter((word) => word !== "" && present.has(word)).length;
  return Number((common / wanted.size).toFixed(4));
}
