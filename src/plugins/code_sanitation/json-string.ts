// Finds and decodes the strings of a JSON text without parsing the text.
import { BACKSLASH } from "./char-codes.ts";

/** Length of `\u0041`. */
export const UNICODE_ESCAPE_LENGTH = 6;
export const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/** The content of a JSON string, without its quotes. */
export interface StringToken {
  readonly start: number;
  readonly end: number;
}

/** Returns the position of the closing quote of the string whose content starts at `start`, or the end of the text. */
export function stringEnd(text: string, start: number): number {
  let quote = text.indexOf('"', start);
  while (quote >= 0 && isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  return quote < 0 ? text.length : quote;
}

/** Returns whether an odd number of backslashes precedes. Each run of backslashes is counted once, so the work is linear. */
function isEscaped(text: string, at: number): boolean {
  let start = at;
  while (text.charCodeAt(start - 1) === BACKSLASH) start--;
  return (at - start) % 2 === 1;
}

export function decodeString(text: string, { start, end }: StringToken): string {
  const raw = text.slice(start, end);
  if (!raw.includes("\\")) return raw;
  try {
    const value: unknown = JSON.parse(`"${raw}"`);
    if (typeof value === "string") return value;
  } catch {
    // Not valid JSON: decoded below.
  }
  return decodeLeniently(raw);
}

/** Decodes a string that is not valid JSON as a lenient parser would. */
function decodeLeniently(raw: string): string {
  let result = "";
  let done = 0;
  for (let at = raw.indexOf("\\"); at >= 0; at = raw.indexOf("\\", done)) {
    const length = escapeLength(raw, at);
    result += raw.slice(done, at) + escapeValue(raw, at, length);
    done = at + length;
  }
  return result + raw.slice(done);
}

function escapeLength(raw: string, at: number): number {
  return Math.min(raw[at + 1] === "u" ? UNICODE_ESCAPE_LENGTH : 2, raw.length - at);
}

/** Returns exactly one unit per escape, so that `unitStarts` can map units to positions. */
function escapeValue(raw: string, at: number, length: number): string {
  const letter = raw[at + 1] ?? "";
  if (letter === "u") return String.fromCharCode(Number.parseInt(raw.slice(at + 2, at + length), 16) || 0);
  return SIMPLE_ESCAPES[letter] ?? (letter === "" ? " " : letter);
}

/** Returns where in the text each decoded unit of a string starts, and as the last element where the string ends. */
export function unitStarts(text: string, token: StringToken): number[] {
  const raw = text.slice(token.start, token.end);
  const starts: number[] = [];
  let at = 0;
  while (at < raw.length) {
    starts.push(token.start + at);
    at += raw.charCodeAt(at) === BACKSLASH ? escapeLength(raw, at) : 1;
  }
  starts.push(token.end);
  return starts;
}
