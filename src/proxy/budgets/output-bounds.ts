// How much output the fields of a request allow: its limit per choice, in every spelling that an API accepts, and its choices.
import { isJsonObject } from "../../base/json.ts";
import type { Operation } from "../../formats/operations.ts";

export interface OutputBounds {
  /** The limit of the request for each of its choices; null if it has none. */
  readonly maxOutputTokens: number | null;
  readonly choices: number;
}

/** The fields that limit or multiply the output. */
export const BOUND_FIELDS = [
  "max_completion_tokens",
  "max_output_tokens",
  "max_tokens",
  "n",
  "best_of",
  // Gemini accepts both spellings of its configuration.
  "generationConfig",
  "generation_config",
  // Bedrock's Converse API.
  "inferenceConfig",
  "inference_config",
] as const;

type BoundFields = Readonly<Partial<Record<(typeof BOUND_FIELDS)[number], unknown>>>;

const LIMITS = ["max_completion_tokens", "max_output_tokens", "max_tokens"] as const;
/** An API whose fields limit the output: that of an operation, or Bedrock's Converse, which is the operation of no format. */
export type BoundingApi = Operation | "converse";
/** Servers ignore the names of other formats. */
const LIMITS_BY_API: Partial<Record<BoundingApi, readonly (typeof LIMITS)[number][]>> = {
  chat: ["max_completion_tokens", "max_tokens"],
  completions: ["max_tokens"],
  messages: ["max_tokens"],
  responses: ["max_output_tokens"],
  generate_content: [],
  converse: [],
};
/** Objects with limits of their own, and the names of these. */
const CONFIGS = ["generationConfig", "generation_config", "inferenceConfig", "inference_config"] as const;
const CONFIG_LIMITS = ["maxOutputTokens", "max_output_tokens", "maxTokens", "max_tokens"] as const;
/** Those of Gemini's API. */
const GEMINI_CONFIGS: ReadonlySet<string> = new Set(["generationConfig", "generation_config"]);
const GEMINI_LIMITS = ["maxOutputTokens", "max_output_tokens"] as const;
/** That of Bedrock's API. */
const CONVERSE_LIMITS = ["maxTokens"] as const;
const NO_LIMITS: readonly (typeof CONFIG_LIMITS)[number][] = [];
const CONFIG_CHOICES = ["candidateCount", "candidate_count"] as const;

export const MAX_COUNT = 100_000_000;
/** Longer strings are not read as numbers. */
const MAX_DIGITS = 20;
/** In any script: Python reads them all. */
const HAS_DIGIT = /(?!0)\p{Nd}/u;

/**
 * `api` is null if it is not known: then all limits count. Of several, the largest is the one that applies. One that is no positive whole
 * number says nothing about the output, and servers differ about which of several they read: beside it, another one limits nothing.
 */
export function outputBoundsOf(fields: BoundFields, api: BoundingApi | null): OutputBounds {
  const limits: unknown[] = [];
  for (const name of (api === null ? undefined : LIMITS_BY_API[api]) ?? LIMITS) limits.push(fields[name]);
  let choices = Math.max(1, choicesOf(fields.n), choicesOf(fields.best_of));
  for (const name of CONFIGS) {
    const config = fields[name];
    if (!isJsonObject(config)) continue;
    for (const limitName of limitsOfConfig(name, api)) limits.push(config[limitName]);
    for (const choicesName of CONFIG_CHOICES) choices = Math.max(choices, choicesOf(config[choicesName]));
  }
  return { maxOutputTokens: largestOf(limits), choices };
}

/** Returns the limits that the API reads in this object. */
function limitsOfConfig(name: string, api: BoundingApi | null): readonly (typeof CONFIG_LIMITS)[number][] {
  if (api === "converse") return name === "inferenceConfig" ? CONVERSE_LIMITS : NO_LIMITS;
  if (api === "generate_content") return GEMINI_CONFIGS.has(name) ? GEMINI_LIMITS : NO_LIMITS;
  return api === null || LIMITS_BY_API[api] === undefined ? CONFIG_LIMITS : NO_LIMITS;
}

/** Returns null if none limits the output, and the most that can be reserved if one does and another one is unusable. */
function largestOf(limits: readonly unknown[]): number | null {
  let largest = 0;
  let hasUnusable = false;
  for (const limit of limits) {
    // Client libraries send null for a field that is not set.
    if (limit === undefined || limit === null) continue;
    const count = countOf(limit);
    hasUnusable ||= count === 0;
    largest = Math.max(largest, count);
  }
  if (largest === 0) return null;
  return hasUnusable ? MAX_COUNT : largest;
}

/** Returns 0 for what is no count. Larger values are no tokens: the request does not limit its output. */
function countOf(value: unknown): number {
  const count = wholeNumberOf(value);
  return count <= MAX_COUNT ? count : 0;
}

/**
 * Returns 0 for what is no count. Unlike a limit, a number of choices that no server accepts must not count as one choice: nor must one in a
 * string that is not understood here.
 */
export function choicesOf(value: unknown): number {
  if (typeof value === "string" && HAS_DIGIT.test(value) && wholeNumberOf(value) === 0) return MAX_COUNT;
  return Math.min(wholeNumberOf(typeof value === "number" ? Math.ceil(value) : value), MAX_COUNT);
}

/** Returns 0 for what is no positive whole number. Many servers accept a number in a string: `"n": "50"`, and those in Python `"5_000"`. */
function wholeNumberOf(value: unknown): number {
  const isText = typeof value === "string" && value.length <= MAX_DIGITS;
  const number = isText ? Number(value.replaceAll("_", "")) : value;
  return typeof number === "number" && Number.isInteger(number) && number > 0 ? number : 0;
}
