// Reads the limits that a traced request sets for the model, for its spans.
import { utf8Between } from "../base/byte-search.ts";
import { JsonScanner } from "../base/json-scanner.ts";
import type { Sampling } from "../telemetry/requests/request-facts.ts";

/** The first one that has a value counts. */
const MAX_TOKENS = ["max_completion_tokens", "max_tokens", "max_output_tokens", "maxOutputTokens"];
const TEMPERATURE = MAX_TOKENS.length;
/** Gemini has the limits in an object of their own, whose name may be in either spelling. */
const CONFIGS = ["generationConfig", "generation_config"];
const FIRST_CONFIG = TEMPERATURE + 1;
const scanner = new JsonScanner([...MAX_TOKENS, "temperature", ...CONFIGS], { uniqueCount: 0 });

/** `bytes` are a valid JSON object. */
export function readSampling(bytes: Uint8Array): Sampling {
  scanner.scan(bytes);
  const config = CONFIGS.findIndex((_, index) => scanner.startOf(FIRST_CONFIG + index) >= 0);
  if (config < 0) return limitsIn(bytes);
  const field = FIRST_CONFIG + config;
  const inner = bytes.subarray(scanner.startOf(field), scanner.endOf(field));
  scanner.scan(inner);
  return limitsIn(inner);
}

/** `bytes` are those of the last scan. */
function limitsIn(bytes: Uint8Array): Sampling {
  const maxTokens = MAX_TOKENS.map((_, field) => numberAt(bytes, field)).find((value) => value !== null);
  const isCount = maxTokens !== undefined && Number.isSafeInteger(maxTokens) && maxTokens >= 0;
  return { maxTokens: isCount ? maxTokens : null, temperature: numberAt(bytes, TEMPERATURE) };
}

/** Returns null if the field is absent or its value is not a number. */
function numberAt(bytes: Uint8Array, field: number): number | null {
  const start = scanner.startOf(field);
  if (start < 0) return null;
  const value = Number(utf8Between(bytes, start, scanner.endOf(field)));
  return Number.isFinite(value) && isNumberStart(bytes[start]) ? value : null;
}

/** A minus or a digit. */
function isNumberStart(byte: number | undefined): boolean {
  return byte !== undefined && (byte === 0x2d || (byte >= 0x30 && byte <= 0x39));
}
