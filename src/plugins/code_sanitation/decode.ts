// One round of decoding: replaces percent-encoding, HTML entities and backslash escapes in one pass.
import { DIGIT, hexValue, isInClass, NEWLINE, toLower } from "./char-classes.ts";
import { AMPERSAND, BACKSLASH, CLOSE_BRACE, HASH, OPEN_BRACE, PERCENT, SEMICOLON } from "./char-codes.ts";
import { endOfWord, lowerCaseText } from "./keyword-set.ts";
import { unitAt, type NormalizedText } from "./normalized-text.ts";
import { Rewriter, type RewrittenText } from "./rewriter.ts";
import type { SyntaxCandidates } from "./syntax-candidates.ts";
import { checkWork } from "./work-budget.ts";

/** The HTML entities for ASCII and invisible characters: all that code consists of. */
const ENTITIES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    amp: "&",
    apos: "'",
    ast: "*",
    bsol: "\\",
    colon: ":",
    comma: ",",
    commat: "@",
    dollar: "$",
    equals: "=",
    excl: "!",
    grave: "`",
    gt: ">",
    hat: "^",
    lbrace: "{",
    lbrack: "[",
    lcub: "{",
    lowbar: "_",
    lpar: "(",
    lsqb: "[",
    lt: "<",
    midast: "*",
    nbsp: " ",
    newline: "\n",
    num: "#",
    percnt: "%",
    period: ".",
    plus: "+",
    quest: "?",
    quot: '"',
    rbrace: "}",
    rbrack: "]",
    rcub: "}",
    rpar: ")",
    rsqb: "]",
    semi: ";",
    sol: "/",
    tab: "\t",
    verbar: "|",
    vert: "|",
    zwj: "\u200d",
    zwnj: "\u200c",
    shy: "\u00ad",
    ensp: " ",
    emsp: " ",
    thinsp: " ",
    hyphen: "-",
    dash: "-",
    minus: "-",
  }),
);
/** Browsers decode these without a semicolon too. */
const WITHOUT_SEMICOLON = new Set(["amp", "gt", "lt", "nbsp", "quot"]);

/** In SHORT_ESCAPES: a longer escape may start with the character. */
const MAY_BE_LONGER = -1;
/** By the character after a backslash: what an escape of these two characters encodes. Any other character encodes itself. */
const SHORT_ESCAPES = shortEscapes();

function shortEscapes(): Int16Array {
  const codes = Int16Array.from({ length: 0x80 }, (_, code) => code);
  for (const [letter, code] of Object.entries({ n: NEWLINE, r: 0x0d, t: 0x09, v: 0x0b, f: 0x0c }))
    codes[letter.charCodeAt(0)] = code;
  // A backslash at the end of a line continues it.
  codes[NEWLINE] = 0;
  for (const character of "uUxX01234567") codes[character.charCodeAt(0)] = MAY_BE_LONGER;
  return codes;
}

/** The work of looking up the name of an entity. */
const STEPS_PER_NAME = 8;

/** The decoded code point of an escape and, in the lowest bits, its length, which is at most 16: thousands of escapes need no objects. */
type Escape = number;
const LENGTH_BITS = 5;
const NO_ESCAPE: Escape = -1;

function escapeOf(code: number, length: number): Escape {
  return (code << LENGTH_BITS) | length;
}

function codeOf(escape: Escape): number {
  return escape >> LENGTH_BITS;
}

function lengthOf(escape: Escape): number {
  return escape & ((1 << LENGTH_BITS) - 1);
}

/** Returns the escape that `units` more belong to. */
function extended(escape: Escape, units: number): Escape {
  return escape === NO_ESCAPE ? NO_ESCAPE : escape + units;
}

/** Returns the text with every escape replaced by the character it encodes; null if there is no escape. */
export function decodeEscapes(
  input: NormalizedText,
  { positions, count, hasEscapes }: SyntaxCandidates,
  depth: number,
): RewrittenText | null {
  if (!hasEscapes) return null;
  let rewriter: Rewriter | null = null;
  let done = 0;
  for (let special = 0; special < count; special++) {
    const index = positions[special] ?? 0;
    const code = input.codes[index] ?? 0;
    if (index < done || (code !== PERCENT && code !== AMPERSAND && code !== BACKSLASH)) continue;
    // A text can consist of these characters only, and no pattern is tried meanwhile.
    input.work.steps++;
    checkWork(input.work);
    const escape = readEscape(input, index, code);
    if (escape === NO_ESCAPE) continue;
    done = index + lengthOf(escape);
    (rewriter ??= new Rewriter(input, depth)).replace(codeOf(escape), index, done);
  }
  return rewriter?.finish() ?? null;
}

function readEscape(input: NormalizedText, at: number, first: number): Escape {
  if (first === BACKSLASH) return readBackslash(input, at);
  return first === PERCENT ? readPercent(input, at) : readEntity(input, at);
}

/** `%41`, `%u0041`, and UTF-8 sequences of `%xx`. Includes overlong forms, because some servers accept them. */
function readPercent(input: NormalizedText, at: number): Escape {
  if (toLower(unitAt(input, at + 1)) === 0x75) return extended(readHex(input, at + 2, 4, 4), 2);
  const first = readByte(input, at);
  if (first < 0) return NO_ESCAPE;
  const following = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
  let code = following === 0 ? first : first & (0x3f >> following);
  for (let index = 1; index <= following; index++) {
    const byte = readByte(input, at + index * 3);
    if ((byte & 0xc0) !== 0x80 || byte < 0) return escapeOf(first, 3);
    code = (code << 6) | (byte & 0x3f);
  }
  return escapeOf(code, 3 + following * 3);
}

function readByte(input: NormalizedText, at: number): number {
  if (unitAt(input, at) !== PERCENT) return -1;
  const high = hexValue(unitAt(input, at + 1));
  if (high < 0) return -1;
  const low = hexValue(unitAt(input, at + 2));
  return low < 0 ? -1 : high * 16 + low;
}

function readEntity(input: NormalizedText, at: number): Escape {
  if (unitAt(input, at + 1) === HASH) {
    const isHex = toLower(unitAt(input, at + 2)) === 0x78;
    const number = isHex
      ? extended(readHex(input, at + 3, 1, 12), 3)
      : extended(readDecimal(input, at + 2), 2);
    return withSemicolon(input, at, number);
  }
  const end = endOfWord(input, at + 1);
  input.work.steps += STEPS_PER_NAME;
  const name = lowerCaseText(input, at + 1, Math.min(end, at + 12));
  const character = ENTITIES.get(name);
  if (character === undefined) return NO_ESCAPE;
  if (unitAt(input, end) !== SEMICOLON && !WITHOUT_SEMICOLON.has(name)) return NO_ESCAPE;
  return withSemicolon(input, at, escapeOf(character.charCodeAt(0), end - at));
}

function withSemicolon(input: NormalizedText, at: number, escape: Escape): Escape {
  if (escape === NO_ESCAPE) return NO_ESCAPE;
  return unitAt(input, at + lengthOf(escape)) === SEMICOLON ? extended(escape, 1) : escape;
}

function readDecimal(input: NormalizedText, at: number): Escape {
  let end = at;
  let code = 0;
  while (end - at < 12 && isInClass(unitAt(input, end), DIGIT))
    code = Math.min(code * 10 + unitAt(input, end++) - 0x30, 0x110000);
  return end === at ? NO_ESCAPE : escapeOf(code, end - at);
}

function readHex(input: NormalizedText, at: number, minDigits: number, maxDigits: number): Escape {
  const { codes } = input;
  // Zeros follow the text, so that it needs no comparison with its length.
  const last = Math.min(at + maxDigits, codes.length);
  let end = at;
  let code = 0;
  for (; end < last; end++) {
    const value = hexValue(codes[end] ?? 0);
    if (value < 0) break;
    code = Math.min(code * 16 + value, 0x110000);
  }
  return end - at < minDigits ? NO_ESCAPE : escapeOf(code, end - at);
}

/** JavaScript, JSON, CSS and octal escapes. Any other escaped character is that character. */
function readBackslash(input: NormalizedText, at: number): Escape {
  if (at + 1 >= input.length) return NO_ESCAPE;
  const next = input.codes[at + 1] ?? 0;
  const short = next < 0x80 ? (SHORT_ESCAPES[next] ?? 0) : next;
  if (short !== MAY_BE_LONGER) return escapeOf(short, 2);
  const longer = readLongEscape(input, at + 1, next);
  return longer === NO_ESCAPE ? escapeOf(next, 2) : extended(longer, 1);
}

/** An escape of more than one character after the backslash, without the backslash. */
function readLongEscape(input: NormalizedText, at: number, first: number): Escape {
  const letter = toLower(first);
  if (letter === 0x75) return extended(readUnicode(input, at + 1), 1);
  if (letter === 0x78) return extended(readHex(input, at + 1, 2, 2), 1);
  return readNumericEscape(input, at);
}

function readUnicode(input: NormalizedText, at: number): Escape {
  if (unitAt(input, at) !== OPEN_BRACE) return readHex(input, at, 4, 4);
  const escape = extended(readHex(input, at + 1, 1, 8), 1);
  const isClosed = escape !== NO_ESCAPE && unitAt(input, at + lengthOf(escape)) === CLOSE_BRACE;
  return isClosed ? extended(escape, 1) : NO_ESCAPE;
}

/** `\0061 ` as in CSS, or octal `\141` as in C and the shell. */
function readNumericEscape(input: NormalizedText, at: number): Escape {
  if (unitAt(input, at) === 0x30 && unitAt(input, at + 1) === 0x30) {
    const css = readHex(input, at, 4, 6);
    if (css !== NO_ESCAPE) return css;
  }
  let end = at;
  let code = 0;
  while (end - at < 3 && unitAt(input, end) >= 0x30 && unitAt(input, end) <= 0x37)
    code = code * 8 + unitAt(input, end++) - 0x30;
  return end - at >= 2 && code >= 0x20 && code < 0x7f ? escapeOf(code, end - at) : NO_ESCAPE;
}
