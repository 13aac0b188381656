// The size of a request in tokens before it is sent: its estimated input, and the output that it allows.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { ValueOrPromise } from "../../base/value-or-promise.ts";
import type { Operation } from "../../formats/operations.ts";
import { estimateRequestTokens } from "../../formats/token-estimate.ts";
import type { RequestBody } from "../request-body.ts";

export interface RequestSize {
  readonly inputTokens: number;
  /** The limit of the request for each of its choices; null if it has none. */
  readonly maxOutputTokens: number | null;
  readonly choices: number;
}

/** The size of a body, which budgets and plugins need one after the other. */
export interface KnownSize {
  readonly body: RequestBody | null;
  readonly size: ValueOrPromise<RequestSize>;
}

export const UNKNOWN_SIZE: RequestSize = { inputTokens: 0, maxOutputTokens: null, choices: 1 };

const LIMITS = ["max_completion_tokens", "max_output_tokens", "max_tokens"] as const;
/** Servers ignore the names of other formats. */
const LIMITS_BY_OPERATION: Partial<Record<Operation, readonly (typeof LIMITS)[number][]>> = {
  chat: ["max_completion_tokens", "max_tokens"],
  completions: ["max_tokens"],
  messages: ["max_tokens"],
  responses: ["max_output_tokens"],
};

/** `operation` is null if it is not known: then all limits count, and the largest is the one that applies. */
export function requestSizeOf(body: JsonObject, operation: Operation | null): RequestSize {
  const gemini = isJsonObject(body["generationConfig"]) ? body["generationConfig"] : {};
  const names = (operation === null ? undefined : LIMITS_BY_OPERATION[operation]) ?? LIMITS;
  const ofGemini = names === LIMITS ? [gemini["maxOutputTokens"]] : [];
  const limits = [...names.map((name) => body[name]), ...ofGemini].filter(isCount);
  const choices = [body["n"], body["best_of"], gemini["candidateCount"]].filter(isCount);
  return {
    inputTokens: estimateRequestTokens(body),
    maxOutputTokens: limits.length === 0 ? null : Math.max(...limits),
    choices: Math.max(1, ...choices),
  };
}

/** Larger values are no tokens. */
function isCount(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) > 0 && Number(value) <= 100_000_000;
}
