// The size of a request in tokens before it is sent: its estimated input, and the output that it allows.
import { hasByteOrderMark } from "../../base/byte-search.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { ValueOrPromise } from "../../base/value-or-promise.ts";
import { EstimatedFieldReader } from "../../formats/estimated-fields.ts";
import { estimateCountedTokens, estimateInput, type InputEstimate } from "../../formats/token-estimate.ts";
import type { CompiledPrice } from "../../usage/compiled-price.ts";
import type { RequestBody } from "../request-body.ts";
import {
  BOUND_FIELDS,
  MAX_COUNT,
  outputBoundsOf,
  type BoundingApi,
  type OutputBounds,
} from "./output-bounds.ts";

/** `fileTokens` of a body that is no JSON object are by its number of bytes: nothing else is known of it. */
export interface RequestSize extends OutputBounds, InputEstimate {}

/** The size of a body, which budgets and plugins need one after the other. */
export interface KnownSize {
  readonly body: RequestBody | null;
  readonly size: ValueOrPromise<RequestSize>;
}

/** What a request to one of its models will use. */
export interface ModelEstimate {
  readonly model: string | null;
  readonly price: CompiledPrice | null;
  readonly inputTokens: number;
  /** The part of the input that is audio. */
  readonly audioTokens: number;
  /** Tokens that the input may have in addition, at most: no more than the model accepts. */
  readonly fileTokens: number;
  /** Whether the request may write a prompt cache, at the price for that. */
  readonly writesCache: boolean;
  /** Of all choices: at most or, if the request does not limit it, probably. */
  readonly outputTokens: number;
}

/** The estimates of a request, which limits and budgets need one after the other. */
export interface KnownEstimates {
  readonly models: readonly (string | null)[];
  readonly size: RequestSize;
  readonly estimates: readonly ModelEstimate[];
}

const NO_INPUT: InputEstimate = { inputTokens: 0, audioTokens: 0, fileTokens: 0 };
export const UNKNOWN_SIZE: RequestSize = { ...NO_INPUT, maxOutputTokens: null, choices: 1 };

/**
 * Bytes of a file for each token. Audio has about a token per 100 ms, which has 300 bytes (speech, 24 kbit/s) to 1,600 bytes (music,
 * 128 kbit/s) if it is compressed.
 */
const BYTES_PER_FILE_TOKEN = 1000;

/** `generationConfig` is a field that the estimate of the input reads, too. */
const OUTPUT_FIELDS: readonly string[] = BOUND_FIELDS.filter((name) => name !== "generationConfig");

const OPENING_BRACE = 0x7b;
const fieldReader = new EstimatedFieldReader(OUTPUT_FIELDS);

/** Returns the size of a request whose bytes are a JSON object in UTF-8 that was validated. */
export function requestSizeIn(bytes: Uint8Array, api: BoundingApi | null): RequestSize {
  if (!fieldReader.read(bytes)) return parsedRequestSize(bytes, api);
  const { others, further, units, isCounted } = fieldReader;
  const input = isCounted
    ? { ...NO_INPUT, inputTokens: estimateCountedTokens(units) }
    : estimateInput(others, units);
  const size = sizeWith(input, further, others, api);
  fieldReader.forget();
  return size;
}

export function fileTokensIn(byteCount: number): number {
  return Math.ceil(byteCount / BYTES_PER_FILE_TOKEN);
}

/** Returns the size of a body that is no JSON object. */
export function sizeOfFile(bytes: Uint8Array): RequestSize {
  return { ...UNKNOWN_SIZE, fileTokens: fileTokensIn(bytes.byteLength) };
}

/** Whether the first character of a text in UTF-8 opens a JSON object: files that are uploaded are not read as text. */
export function mayBeObject(bytes: Uint8Array): boolean {
  let at = hasByteOrderMark(bytes) ? 3 : 0;
  while ((bytes[at] ?? OPENING_BRACE) <= 0x20) at++;
  return bytes[at] === OPENING_BRACE;
}

/**
 * As `requestSizeIn`, but slower and with as much memory as the parsed body needs. The bytes may be anything.
 */
export function parsedRequestSize(bytes: Uint8Array, api: BoundingApi | null): RequestSize {
  const body = parse(bytes);
  if (!isJsonObject(body)) return sizeOfFile(bytes);
  const outputFields = OUTPUT_FIELDS.map((name) => body[name]);
  return sizeWith(estimateInput(body), outputFields, body, api);
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}

/** `values` are those of OUTPUT_FIELDS. */
function sizeWith(
  { inputTokens, audioTokens, fileTokens }: InputEstimate,
  values: readonly unknown[],
  { generationConfig, prompt }: JsonObject,
  api: BoundingApi | null,
): RequestSize {
  const [max_completion_tokens, max_output_tokens, max_tokens, n, best_of, ...configs] = values;
  const [generation_config, inferenceConfig, inference_config] = configs;
  const limits = { max_completion_tokens, max_output_tokens, max_tokens, n, best_of };
  const fields = { ...limits, generationConfig, generation_config, inferenceConfig, inference_config };
  const { maxOutputTokens, choices } = outputBoundsOf(fields, api);
  return {
    inputTokens,
    audioTokens,
    fileTokens,
    maxOutputTokens,
    choices: Math.min(choices * promptsIn(prompt), MAX_COUNT),
  };
}

/** Returns the number of prompts of a completion, each of which gets its own choices. A list of numbers is one prompt. */
function promptsIn(prompt: unknown): number {
  return Array.isArray(prompt) && prompt.length > 0 && typeof prompt[0] !== "number" ? prompt.length : 1;
}
