// Reads the limits that a traced request sets for the model, for its spans.
import { utf8Between } from "../base/byte-search.ts";
import { JsonScanner } from "../base/json-scanner.ts";
import type { Sampling } from "../telemetry/requests/request-facts.ts";

/** The first one that has a value counts. */
const MAX_TOKENS = ["max_completion_tokens", "max_tokens", "max_output_tokens"];
const TEMPERATURE = MAX_TOKENS.length;
const scanner = new JsonScanner([...MAX_TOKENS, "temperature"], 0);

/** `bytes` are a valid JSON object. */
export function readSampling(bytes: Uint8Array): Sampling {
  scanner.scan(bytes);
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
