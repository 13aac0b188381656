// One round of decoding: percent, HTML entities and backslash escapes, all in one pass over a view.
import { DIGIT, HEX, hexValue, isOf, lower, NEWLINE } from "./char-classes.ts";
import { lowerText, wordRun } from "./grammar.ts";
import { Rewriter, type Rewritten } from "./rewrite.ts";
import { unitAt, type View } from "./view.ts";

const PERCENT = 0x25;
const AMPERSAND = 0x26;
const BACKSLASH = 0x5c;
const HASH = 0x23;
const SEMICOLON = 0x3b;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Those of HTML's names that stand for ASCII or a blank: all that syntax needs. */
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
/** Browsers read these without their semicolon too. */
const WITHOUT_SEMICOLON = new Set(["amp", "gt", "lt", "nbsp", "quot"]);
const CONTROL_ESCAPES: ReadonlyMap<number, number> = new Map(
  Object.entries({ n: 0x0a, r: 0x0d, t: 0x09, v: 0x0b, f: 0x0c }).map(([letter, code]) => [
    letter.charCodeAt(0),
    code,
  ]),
);

/** What an escape stands for and where it ends. */
interface Escape {
  readonly code: number;
  readonly end: number;
}

/** The view with each escape replaced by what it stands for, or null when it holds none. */
export function decodeRound(view: View, depth: number): Rewritten | null {
  let written: Rewriter | null = null;
  const { positions, count } = view.marks;
  let done = 0;
  for (let mark = 0; mark < count; mark++) {
    const index = positions[mark] as number;
    const code = view.codes[index] as number;
    if (index < done || (code !== PERCENT && code !== AMPERSAND && code !== BACKSLASH)) continue;
    const escape = readEscape(view, index, code);
    if (escape === null) continue;
    (written ??= new Rewriter(view, depth)).replace(escape.code, index, escape.end);
    done = escape.end;
  }
  view.work.steps += count;
  return written?.finish() ?? null;
}

function readEscape(view: View, at: number, opening: number): Escape | null {
  if (opening === PERCENT) return readPercent(view, at);
  return opening === AMPERSAND ? readEntity(view, at) : readBackslash(view, at);
}

/** `%41`, `%u0041`, and UTF-8 over several, overlong forms included: servers have accepted those. */
function readPercent(view: View, at: number): Escape | null {
  if (lower(unitAt(view, at + 1)) === 0x75) return readHex(view, at + 2, 4, 4);
  const first = readByte(view, at);
  if (first < 0) return null;
  const following = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
  let code = following === 0 ? first : first & (0x3f >> following);
  for (let index = 1; index <= following; index++) {
    const byte = readByte(view, at + index * 3);
    if ((byte & 0xc0) !== 0x80 || byte < 0) return { code: first, end: at + 3 };
    code = (code << 6) | (byte & 0x3f);
  }
  return { code, end: at + 3 + following * 3 };
}

function readByte(view: View, at: number): number {
  if (unitAt(view, at) !== PERCENT) return -1;
  const high = hexValue(unitAt(view, at + 1));
  const low = hexValue(unitAt(view, at + 2));
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

function readEntity(view: View, at: number): Escape | null {
  if (unitAt(view, at + 1) === HASH) {
    const isHex = lower(unitAt(view, at + 2)) === 0x78;
    const number = isHex ? readHex(view, at + 3, 1, 12) : readDecimal(view, at + 2);
    return number === null ? null : withSemicolon(view, number);
  }
  const end = wordRun(view, at + 1);
  const name = lowerText(view, at + 1, Math.min(end, at + 12));
  const character = ENTITIES.get(name);
  if (character === undefined) return null;
  if (unitAt(view, end) !== SEMICOLON && !WITHOUT_SEMICOLON.has(name)) return null;
  return withSemicolon(view, { code: character.charCodeAt(0), end });
}

function withSemicolon(view: View, escape: Escape): Escape {
  return unitAt(view, escape.end) === SEMICOLON ? { code: escape.code, end: escape.end + 1 } : escape;
}

function readDecimal(view: View, at: number): Escape | null {
  let end = at;
  let code = 0;
  while (end - at < 12 && isOf(unitAt(view, end), DIGIT))
    code = Math.min(code * 10 + unitAt(view, end++) - 0x30, 0x110000);
  return end === at ? null : { code, end };
}

function readHex(view: View, at: number, least: number, most: number): Escape | null {
  let end = at;
  let code = 0;
  while (end - at < most && isOf(unitAt(view, end), HEX))
    code = Math.min(code * 16 + hexValue(unitAt(view, end++)), 0x110000);
  return end - at < least ? null : { code, end };
}

/** JavaScript's, JSON's, CSS's and octal escapes; any other escaped character stands for itself. */
function readBackslash(view: View, at: number): Escape | null {
  if (at + 1 >= view.length) return null;
  const next = unitAt(view, at + 1);
  const letter = lower(next);
  if (letter === 0x75) {
    const escape = readUnicode(view, at + 2);
    if (escape !== null) return escape;
  }
  if (letter === 0x78) {
    const escape = readHex(view, at + 2, 2, 2);
    if (escape !== null) return escape;
  }
  const numeric = isOf(next, DIGIT) ? readNumericEscape(view, at + 1) : null;
  if (numeric !== null) return numeric;
  if (next === NEWLINE) return { code: 0, end: at + 2 };
  return { code: CONTROL_ESCAPES.get(next) ?? next, end: at + 2 };
}

function readUnicode(view: View, at: number): Escape | null {
  if (unitAt(view, at) !== OPEN_BRACE) return readHex(view, at, 4, 4);
  const escape = readHex(view, at + 1, 1, 8);
  return escape !== null && unitAt(view, escape.end) === CLOSE_BRACE
    ? { code: escape.code, end: escape.end + 1 }
    : null;
}

/** CSS writes `\0061 `, C and the shell `\141`. */
function readNumericEscape(view: View, at: number): Escape | null {
  if (unitAt(view, at) === 0x30 && unitAt(view, at + 1) === 0x30) {
    const css = readHex(view, at, 4, 6);
    if (css !== null) return css;
  }
  let end = at;
  let code = 0;
  while (end - at < 3 && unitAt(view, end) >= 0x30 && unitAt(view, end) <= 0x37)
    code = code * 8 + unitAt(view, end++) - 0x30;
  return end - at >= 2 && code >= 0x20 && code < 0x7f ? { code, end } : null;
}
