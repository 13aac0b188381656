// The models that a client names in the messages of a WebSocket. Some providers let a message choose or change the model.
import type { ModelAllowList } from "../../snapshot/model-allow-list.ts";

const MODEL = "model";
/** The name with its quotes, as it is, and with every character written as `\u006d`. */
const MIN_NAME_LENGTH = MODEL.length + 2;
const MAX_NAME_LENGTH = MODEL.length * 6 + 2;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const decoder = new TextDecoder();

/** Returns the first model in a message that the key may not use, or null. */
export function forbiddenModelIn(message: string | Uint8Array, allowed: ModelAllowList): string | null {
  for (const model of modelsIn(message)) if (!allowed.allows(model)) return model;
  return null;
}

/**
 * Every field named `model` counts, wherever it is and however it is written, also if it occurs twice: parsers may take the first or the last
 * one. A value that is not a string names no model. The time is linear in the size of the message.
 */
export function* modelsIn(message: string | Uint8Array): Generator<string> {
  const text = typeof message === "string" ? message : decoder.decode(message);
  for (let start = text.indexOf('"'); start >= 0;) {
    const end = stringEnd(text, start);
    if (end < 0) return;
    const length = end - start;
    const mayBeName = length >= MIN_NAME_LENGTH && length <= MAX_NAME_LENGTH;
    const model = mayBeName ? modelAfter(text, start, end) : null;
    if (model !== null) yield model;
    start = text.indexOf('"', end);
  }
}

/** Returns the value of the field whose name is between these places, if it is a model, else null. */
function modelAfter(text: string, start: number, end: number): string | null {
  if (decode(text.slice(start, end)).toLowerCase() !== MODEL) return null;
  const colon = skipSpace(text, end);
  if (text.charCodeAt(colon) !== COLON) return null;
  const value = skipSpace(text, colon + 1);
  const valueEnd = text.charCodeAt(value) === QUOTE ? stringEnd(text, value) : -1;
  return valueEnd < 0 ? null : decode(text.slice(value, valueEnd));
}

/** Returns the place after the string that starts at `start`, or -1 if it does not end. */
function stringEnd(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let slashes = 0;
    while (text.charCodeAt(quote - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return quote + 1;
  }
  return -1;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= 0x20) at++;
  return at;
}

function decode(quoted: string): string {
  try {
    const text: unknown = JSON.parse(quoted);
    return typeof text === "string" ? text : quoted;
  } catch {
    return quoted.slice(1, -1);
  }
}
