// The size of a request in tokens before it is sent: its estimated input, and the output that it allows.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { estimateRequestTokens } from "../../formats/token-estimate.ts";

export interface RequestSize {
  readonly inputTokens: number;
  /** The limit of the request for all its choices together; null if it has none. */
  readonly maxOutputTokens: number | null;
}

export const UNKNOWN_SIZE: RequestSize = { inputTokens: 0, maxOutputTokens: null };

const LIMITS = ["max_completion_tokens", "max_output_tokens", "max_tokens"] as const;

export function requestSizeOf(body: JsonObject): RequestSize {
  const gemini = isJsonObject(body["generationConfig"]) ? body["generationConfig"] : {};
  const limits = [...LIMITS.map((name) => body[name]), gemini["maxOutputTokens"]].filter(isCount);
  const choices = [body["n"], body["best_of"], gemini["candidateCount"]].filter(isCount);
  return {
    inputTokens: estimateRequestTokens(body),
    maxOutputTokens: limits.length === 0 ? null : Math.max(...limits) * Math.max(1, ...choices),
  };
}

/** Larger values are no tokens, and their product must stay an integer. */
function isCount(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) > 0 && Number(value) <= 100_000_000;
}
