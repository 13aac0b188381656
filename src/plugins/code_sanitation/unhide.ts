// Two more readings of a view: comments as blanks, and comments and other hollow syntax taken out of words.
import { BLANK, isOf, LETTER, lower, QUOTE, SPACE, WORD } from "./char-classes.ts";
import { Rewriter, type Rewritten } from "./rewrite.ts";
import { unitAt, type View } from "./view.ts";

const SLASH = 0x2f;
const STAR = 0x2a;
const EXCLAMATION = 0x21;
const LESS = 0x3c;
const DASH = 0x2d;
const GREATER = 0x3e;
const DOLLAR = 0x24;
const CARET = 0x5e;
const OPEN = 0x28;
const CLOSE = 0x29;
const BACKTICK = 0x60;
const DOT = 0x2e;
const PLUS = 0x2b;

// A database reads a comment between two words as a blank, and runs the inside of MySQL's conditional ones.
export function readCommentsAsBlanks(view: View, depth: number): Rewritten | null {
  let written: Rewriter | null = null;
  const closing = commentEnds(view);
  const { positions, count } = view.marks;
  let done = 0;
  for (let mark = 0; mark < count; mark++) {
    const index = positions[mark] as number;
    const code = view.codes[index] as number;
    if (index < done || (code !== SLASH && code !== STAR)) continue;
    let end = index;
    if (code === SLASH && unitAt(view, index + 1) === STAR) {
      end =
        unitAt(view, index + 2) === EXCLAMATION
          ? conditionalOpening(view, index + 3)
          : closing.after(index + 2);
    } else if (code === STAR && unitAt(view, index + 1) === SLASH) {
      end = index + 2;
    }
    if (end <= index) continue;
    (written ??= new Rewriter(view, depth)).replace(SPACE, index, end);
    done = end;
  }
  view.work.steps += count;
  return written?.finish() ?? null;
}

/** `/*!50000`: the version number belongs to the opening. */
function conditionalOpening(view: View, at: number): number {
  let end = at;
  while (end - at < 6 && unitAt(view, end) >= 0x30 && unitAt(view, end) <= 0x39) end++;
  return end;
}

/** Where the next comment closes; asked from left to right, so that a text of openings is searched only once. */
function commentEnds(view: View): { after(at: number): number } {
  let known = 0;
  return {
    after(at: number): number {
      if (known < at) known = at;
      while (known < view.length && !(unitAt(view, known) === STAR && unitAt(view, known + 1) === SLASH))
        known++;
      return known >= view.length ? -1 : known + 2;
    },
  };
}

/** `c''at`, `c$@at`, `'sys'.'tem'`, a comment in a keyword: the word that is left without what means nothing. */
export function readWordsJoined(view: View, depth: number): Rewritten | null {
  let written: Rewriter | null = null;
  const closing = commentEnds(view);
  const { positions, count } = view.marks;
  let done = 0;
  for (let mark = 0; mark < count; mark++) {
    const index = positions[mark] as number;
    if (index < done) continue;
    const code = view.codes[index] as number;
    const end = hollowEnd(view, index, code, closing);
    if (end <= index) continue;
    (written ??= new Rewriter(view, depth)).drop(index, end);
    done = end;
  }
  view.work.steps += count;
  return written?.finish() ?? null;
}

function hollowEnd(view: View, at: number, code: number, closing: { after(at: number): number }): number {
  const next = unitAt(view, at + 1);
  if (code === SLASH) return next === STAR ? closing.after(at + 2) : at;
  if (code === LESS && next === EXCLAMATION) return htmlCommentEnd(view, at);
  if (isOf(code, QUOTE)) return hollowQuotes(view, at, code);
  if (code === DOLLAR && isOf(unitAt(view, at - 1), WORD)) return hollowExpansion(view, at, next);
  if ((code === LESS || code === GREATER) && next === OPEN && unitAt(view, at + 2) === CLOSE) return at + 3;
  if (code === CARET && isOf(unitAt(view, at - 1), LETTER) && isOf(next, LETTER)) return at + 1;
  return at;
}

function htmlCommentEnd(view: View, at: number): number {
  if (unitAt(view, at + 2) !== DASH || unitAt(view, at + 3) !== DASH) return at;
  for (let end = at + 4; end < at + 68; end++) {
    if (unitAt(view, end) === DASH && unitAt(view, end + 1) === DASH && unitAt(view, end + 2) === GREATER)
      return end + 3;
  }
  return at;
}

/** `$@`, `$*`, `$()` and the like expand to nothing; so does a one-letter variable that was never set. */
function hollowExpansion(view: View, at: number, next: number): number {
  if ("@*!?$".includes(String.fromCharCode(next))) return at + 2;
  if (next === OPEN && unitAt(view, at + 2) === CLOSE) return at + 3;
  return isOf(next, LETTER) && !isOf(unitAt(view, at + 2), WORD) ? at + 2 : at;
}

/** Empty quotes in a word; a string that goes on in the next one (`'sys'.'tem'`); quotes around a piece of a word. */
function hollowQuotes(view: View, at: number, code: number): number {
  const before = unitAt(view, at - 1);
  const next = unitAt(view, at + 1);
  if (next === code && isOf(before, WORD)) return at + 2;
  if (code !== BACKTICK && isOf(before, WORD | QUOTE) === isOf(before, WORD)) {
    const joined = concatenationEnd(view, at, code);
    if (joined > at) return joined;
  }
  return closesPiece(view, at, code) || opensPiece(view, at, code) ? at + 1 : at;
}

function concatenationEnd(view: View, at: number, code: number): number {
  let end = at + 1;
  if (isOf(unitAt(view, end), BLANK)) end++;
  const operator = unitAt(view, end);
  if (operator === DOT || operator === PLUS) end++;
  if (isOf(unitAt(view, end), BLANK)) end++;
  const follows = unitAt(view, end) === code && end > at + 1 && isOf(unitAt(view, end + 1), WORD);
  return follows && isOf(unitAt(view, at - 1), WORD) ? end + 1 : at;
}

/** A quote that opens one to five letters which close again and touch a word: `'wh'oami`, `/et'c/pa'sswd`. */
function opensPiece(view: View, at: number, code: number): boolean {
  const close = pieceEnd(view, at + 1, code, 1);
  if (close < 0) return false;
  return touches(unitAt(view, at - 1)) || isOf(unitAt(view, close + 1), LETTER);
}

function closesPiece(view: View, at: number, code: number): boolean {
  const open = pieceEnd(view, at - 1, code, -1);
  if (open < 0) return false;
  return touches(unitAt(view, open - 1)) || isOf(unitAt(view, at + 1), LETTER);
}

function touches(code: number): boolean {
  return isOf(code, LETTER) || code === SLASH;
}

function pieceEnd(view: View, at: number, code: number, step: number): number {
  let index = at;
  while (
    Math.abs(index - at) < 6 &&
    (isOf(lower(unitAt(view, index)), LETTER) || unitAt(view, index) === SLASH)
  )
    index += step;
  return index !== at && unitAt(view, index) === code ? index : -1;
}
