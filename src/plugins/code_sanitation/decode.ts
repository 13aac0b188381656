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
const CONTROL_ESCAPES: ReadonlyMap<number, number> = new Map(
  Object.entries({ n: NEWLINE, r: 0x0d, t: 0x09, v: 0x0b, f: 0x0c }).map(([letter, code]) => [
    letter.charCodeAt(0),
    code,
  ]),
);

/** The work of looking up the name of an entity. */
const STEPS_PER_NAME = 8;

/** The decoded code point of an escape, and the position after the escape. */
interface Escape {
  readonly code: number;
  readonly end: number;
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
    if (escape === null) continue;
    (rewriter ??= new Rewriter(input, depth)).replace(escape.code, index, escape.end);
    done = escape.end;
  }
  return rewriter?.finish() ?? null;
}

function readEscape(input: NormalizedText, at: number, first: number): Escape | null {
  if (first === PERCENT) return readPercent(input, at);
  return first === AMPERSAND ? readEntity(input, at) : readBackslash(input, at);
}

/** `%41`, `%u0041`, and UTF-8 sequences of `%xx`. Includes overlong forms, because some servers accept them. */
function readPercent(input: NormalizedText, at: number): Escape | null {
  if (toLower(unitAt(input, at + 1)) === 0x75) return readHex(input, at + 2, 4, 4);
  const first = readByte(input, at);
  if (first < 0) return null;
  const following = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
  let code = following === 0 ? first : first & (0x3f >> following);
  for (let index = 1; index <= following; index++) {
    const byte = readByte(input, at + index * 3);
    if ((byte & 0xc0) !== 0x80 || byte < 0) return { code: first, end: at + 3 };
    code = (code << 6) | (byte & 0x3f);
  }
  return { code, end: at + 3 + following * 3 };
}

function readByte(input: NormalizedText, at: number): number {
  if (unitAt(input, at) !== PERCENT) return -1;
  const high = hexValue(unitAt(input, at + 1));
  if (high < 0) return -1;
  const low = hexValue(unitAt(input, at + 2));
  return low < 0 ? -1 : high * 16 + low;
}

function readEntity(input: NormalizedText, at: number): Escape | null {
  if (unitAt(input, at + 1) === HASH) {
    const isHex = toLower(unitAt(input, at + 2)) === 0x78;
    const number = isHex ? readHex(input, at + 3, 1, 12) : readDecimal(input, at + 2);
    return number === null ? null : withSemicolon(input, number);
  }
  const end = endOfWord(input, at + 1);
  input.work.steps += STEPS_PER_NAME;
  const name = lowerCaseText(input, at + 1, Math.min(end, at + 12));
  const character = ENTITIES.get(name);
  if (character === undefined) return null;
  if (unitAt(input, end) !== SEMICOLON && !WITHOUT_SEMICOLON.has(name)) return null;
  return withSemicolon(input, { code: character.charCodeAt(0), end });
}

function withSemicolon(input: NormalizedText, escape: Escape): Escape {
  return unitAt(input, escape.end) === SEMICOLON ? { code: escape.code, end: escape.end + 1 } : escape;
}

function readDecimal(input: NormalizedText, at: number): Escape | null {
  let end = at;
  let code = 0;
  while (end - at < 12 && isInClass(unitAt(input, end), DIGIT))
    code = Math.min(code * 10 + unitAt(input, end++) - 0x30, 0x110000);
  return end === at ? null : { code, end };
}

function readHex(input: NormalizedText, at: number, minDigits: number, maxDigits: number): Escape | null {
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
  return end - at < minDigits ? null : { code, end };
}

/** JavaScript, JSON, CSS and octal escapes. Any other escaped character is that character. */
function readBackslash(input: NormalizedText, at: number): Escape | null {
  if (at + 1 >= input.length) return null;
  const next = unitAt(input, at + 1);
  const letter = toLower(next);
  if (letter === 0x75) {
    const escape = readUnicode(input, at + 2);
    if (escape !== null) return escape;
  }
  if (letter === 0x78) {
    const escape = readHex(input, at + 2, 2, 2);
    if (escape !== null) return escape;
  }
  const numeric = isInClass(next, DIGIT) ? readNumericEscape(input, at + 1) : null;
  if (numeric !== null) return numeric;
  if (next === NEWLINE) return { code: 0, end: at + 2 };
  return { code: CONTROL_ESCAPES.get(next) ?? next, end: at + 2 };
}

function readUnicode(input: NormalizedText, at: number): Escape | null {
  if (unitAt(input, at) !== OPEN_BRACE) return readHex(input, at, 4, 4);
  const escape = readHex(input, at + 1, 1, 8);
  return escape !== null && unitAt(input, escape.end) === CLOSE_BRACE
    ? { code: escape.code, end: escape.end + 1 }
    : null;
}

/** `\0061 ` as in CSS, or octal `\141` as in C and the shell. */
function readNumericEscape(input: NormalizedText, at: number): Escape | null {
  if (unitAt(input, at) === 0x30 && unitAt(input, at + 1) === 0x30) {
    const css = readHex(input, at, 4, 6);
    if (css !== null) return css;
  }
  let end = at;
  let code = 0;
  while (end - at < 3 && unitAt(input, end) >= 0x30 && unitAt(input, end) <= 0x37)
    code = code * 8 + unitAt(input, end++) - 0x30;
  return end - at >= 2 && code >= 0x20 && code < 0x7f ? { code, end } : null;
}
