// Finds objects that have a member twice: JSON.parse returns the last one, and other parsers the first one.
import { isJsonObject } from "./json.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/** Whether an object at any depth has a member twice. `value` is that of the text, which is valid JSON of bounded depth. */
export function hasDuplicateMembers(text: string, value: unknown): boolean {
  return colonsIn(text) !== membersOf(value);
}

/** Outside of strings, each colon belongs to a member. */
function colonsIn(text: string): number {
  let colons = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = closingQuote(text, at);
    else if (code === COLON) colons++;
  }
  return colons;
}

function closingQuote(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at++;
  }
  return text.length;
}

function membersOf(value: unknown): number {
  let members = 0;
  if (Array.isArray(value)) for (const item of value) members += membersOf(item);
  else if (isJsonObject(value)) {
    for (const name of Object.keys(value)) members += 1 + membersOf(value[name]);
  }
  return members;
}
