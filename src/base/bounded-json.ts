// Parses JSON of peers up to a depth: code that walks a value recursively, JSON.stringify included, takes seconds for one that is nested
// very deeply, or overflows the stack.
import { MAX_DEPTH } from "./json-scanner.ts";

/** Deeper texts are longer: each level has an opening and a closing character. */
const MIN_DEEP_LENGTH = 2 * MAX_DEPTH;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
/** Clears the bit in which `[` and `{`, and `]` and `}`, differ. */
const BRACKET_MASK = 0xdf;
/** Shorter strings are read character by character: a search costs more. */
const NEAR_CHARACTERS = 16;

/** Of one event of a stream. Events are parsed on the event loop, which this many values keep busy for up to 20 ms. */
export const MAX_EVENT_ITEMS = 65_536;

/** Throws a SyntaxError, also for a text that is nested too deeply, or has more objects, arrays and commas than `maxItems`. */
export function parseBounded(text: string, maxItems = Infinity): unknown {
  rejectUnbounded(text, maxItems);
  return JSON.parse(text);
}

/** Throws a SyntaxError if arrays and objects are nested beyond the limit. The text need not be valid JSON. */
export function rejectUnbounded(text: string, maxItems = Infinity): void {
  if (text.length <= MIN_DEEP_LENGTH) return;
  let depth = 0;
  let items = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = closingQuote(text, at + 1);
    else if ((code & BRACKET_MASK) === OPEN_BRACKET) {
      if (++depth > MAX_DEPTH)
        throw new SyntaxError(`The JSON is nested more than ${MAX_DEPTH} levels deep.`);
      if (++items > maxItems) throw tooMany(maxItems);
    } else if ((code & BRACKET_MASK) === CLOSE_BRACKET) depth--;
    else if (code === COMMA && ++items > maxItems) throw tooMany(maxItems);
  }
}

function tooMany(maxItems: number): SyntaxError {
  return new SyntaxError(`The JSON has more than ${maxItems} values.`);
}

/** Returns the index of the quote that ends the string whose content starts at `start`, or the length of the text. */
function closingQuote(text: string, start: number): number {
  const near = Math.min(start + NEAR_CHARACTERS, text.length);
  let at = start;
  for (; at < near; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at++;
  }
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    // Each run of backslashes is counted once, so the work is linear.
    let run = quote;
    while (run > at && text.charCodeAt(run - 1) === BACKSLASH) run--;
    if ((quote - run) % 2 === 0) return quote;
    at = quote + 1;
  }
}
