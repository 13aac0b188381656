// Moves through the structure of a JSON text without parsing it. All positions are in the text. In invalid JSON the functions stop at
// the latest at the end of the text. None is recursive, so nesting may be deep.
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  DOUBLE_QUOTE,
  OPEN_BRACE,
  OPEN_BRACKET,
} from "./char-codes.ts";
import { stringEnd } from "./json-string.ts";

const SPACE = 0x20;

export function skipSpace(text: string, from: number): number {
  let at = from;
  // Other control characters are invalid outside of strings, so they need no test.
  while (text.charCodeAt(at) <= SPACE) at++;
  return at;
}

/** Returns the end of the value that starts at `start`. */
export function valueEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case DOUBLE_QUOTE:
        at = stringEnd(text, at + 1);
        if (depth === 0) return at + 1;
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth++;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--;
        // Below zero: the value is a number or a literal, and its container ends here.
        if (depth <= 0) return depth === 0 ? at + 1 : at;
        break;
      case COMMA:
        if (depth === 0) return at;
    }
  }
  return text.length;
}

/** Calls `visit` with the position of each key and of its value. `visit` returns the end of the value. Returns the object's end. */
export function forEachMember(
  text: string,
  object: number,
  visit: (key: number, value: number) => number,
): number {
  let at = skipSpace(text, object + 1);
  while (text.charCodeAt(at) === DOUBLE_QUOTE) {
    const colon = skipSpace(text, stringEnd(text, at + 1) + 1);
    const value = skipSpace(text, text.charCodeAt(colon) === COLON ? colon + 1 : colon);
    at = afterComma(text, visit(at, value));
  }
  return Math.min(at + 1, text.length);
}

/** Calls `visit` with the position of each element. `visit` returns the end of the element. Returns the end of the array. */
export function forEachElement(text: string, array: number, visit: (element: number) => number): number {
  let at = skipSpace(text, array + 1);
  while (at < text.length && text.charCodeAt(at) !== CLOSE_BRACKET) {
    const next = afterComma(text, visit(at));
    if (next <= at) return at;
    at = next;
  }
  return Math.min(at + 1, text.length);
}

function afterComma(text: string, end: number): number {
  const at = skipSpace(text, end);
  return text.charCodeAt(at) === COMMA ? skipSpace(text, at + 1) : at;
}
