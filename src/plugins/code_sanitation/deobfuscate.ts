// Deobfuscation: two variants of a text, with comments replaced by spaces, and with comments and other syntax that has no
// effect removed from within words.
import { isInClass, LETTER, QUOTE, SPACE, WHITESPACE, WORD } from "./char-classes.ts";
import {
  BACKTICK,
  CARET,
  CLOSE_PAREN,
  DASH,
  DOLLAR,
  DOT,
  EXCLAMATION,
  GREATER,
  LESS,
  OPEN_PAREN,
  PLUS,
  SLASH,
  STAR,
} from "./char-codes.ts";
import { charSet, charSetHas } from "./char-set.ts";
import { unitAt, type NormalizedText } from "./normalized-text.ts";
import { Rewriter, type RewrittenText } from "./rewriter.ts";
import type { SyntaxCandidates } from "./syntax-candidates.ts";
import { checkWork, stepsToRead } from "./work-budget.ts";

/**
 * Replaces comments by spaces, as a database does between two words. Of MySQL's conditional comments only the delimiters are
 * replaced, because MySQL executes their content. Returns null if there is no comment.
 */
export function replaceComments(
  input: NormalizedText,
  candidates: SyntaxCandidates,
  depth: number,
): RewrittenText | null {
  const { positions, count, hasComments } = candidates;
  if (!hasComments) return null;
  let rewriter: Rewriter | null = null;
  const comments = new CommentEnds(input, candidates);
  input.work.steps += stepsToRead(count);
  checkWork(input.work);
  let done = 0;
  for (let special = 0; special < count; special++) {
    const index = positions[special] ?? 0;
    const code = input.codes[index] ?? 0;
    if (index < done || (code !== SLASH && code !== STAR)) continue;
    let end = index;
    if (code === SLASH && unitAt(input, index + 1) === STAR) {
      const isConditional = unitAt(input, index + 2) === EXCLAMATION;
      end = isConditional ? endOfConditionalStart(input, index + 3) : comments.after(index + 2);
    } else if (code === STAR && unitAt(input, index + 1) === SLASH) {
      end = index + 2;
    }
    if (end <= index) continue;
    (rewriter ??= new Rewriter(input, depth)).replace(SPACE, index, end);
    done = end;
  }
  return rewriter?.finish() ?? null;
}

/** Returns the position after `/*!` and an optional version number: `/*!50000`. */
function endOfConditionalStart(input: NormalizedText, at: number): number {
  let end = at;
  while (end - at < 6 && unitAt(input, end) >= 0x30 && unitAt(input, end) <= 0x39) end++;
  return end;
}

/** Finds the ends of comments. Queries must be in ascending order, so that the candidates are searched only once. */
class CommentEnds {
  readonly #codes: Uint16Array;
  readonly #candidates: SyntaxCandidates;
  /** The candidates before this one are before the last query, or end no comment. */
  #next = 0;

  constructor({ codes }: NormalizedText, candidates: SyntaxCandidates) {
    this.#codes = codes;
    this.#candidates = candidates;
  }

  /** Returns the position after the first comment end at or after `at`; -1 if there is none. */
  after(at: number): number {
    const codes = this.#codes;
    const { positions, count } = this.#candidates;
    for (; this.#next < count; this.#next++) {
      const position = positions[this.#next] ?? 0;
      if (position >= at && codes[position] === STAR && codes[position + 1] === SLASH) return position + 2;
    }
    return -1;
  }
}

/** The work of looking at the units around a quote. */
const STEPS_PER_QUOTE = 4;
/** The special positions that are looked at between two checks of the limit. */
const SPECIALS_PER_CHECK = 64;

/**
 * Removes syntax without effect from within words, such as `c''at`, `c$@at`, `'sys'.'tem'` or a comment in a keyword. Returns
 * null if there is none.
 */
export function removeNoOpSyntax(
  input: NormalizedText,
  candidates: SyntaxCandidates,
  depth: number,
): RewrittenText | null {
  const { positions, count } = candidates;
  if (count === 0) return null;
  let rewriter: Rewriter | null = null;
  const comments = new CommentEnds(input, candidates);
  input.work.steps += stepsToRead(count * 2);
  checkWork(input.work);
  let done = 0;
  /** Comments that replaceComments replaces with the same effect: start, end, start, end, … */
  const replaced: number[] = [];
  for (let special = 0; special < count; special++) {
    // No pattern is tried meanwhile, so check the limit here. Not for every position: a quote takes as little as a step.
    if (special % SPECIALS_PER_CHECK === 0) checkWork(input.work);
    const index = positions[special] ?? 0;
    if (index < done) continue;
    const end = endOfNoOp(input, index, comments);
    if (end <= index) continue;
    done = end;
    if (isSeparateComment(input, index)) {
      replaced.push(index, end);
      continue;
    }
    rewriter ??= new Rewriter(input, depth);
    removeAll(replaced, rewriter);
    rewriter.remove(index, end);
  }
  checkWork(input.work);
  if (rewriter === null) return null;
  removeAll(replaced, rewriter);
  return rewriter.finish();
}

function removeAll(ranges: number[], rewriter: Rewriter): void {
  for (let index = 0; index < ranges.length; index += 2)
    rewriter.removeUnrecorded(ranges[index] ?? 0, ranges[index + 1] ?? 0);
  ranges.length = 0;
}

/** A comment after whitespace: a space instead of it is merged, so the text is the same. Most comments of programs are such. */
function isSeparateComment(input: NormalizedText, at: number): boolean {
  const isComment = input.codes[at] === SLASH && unitAt(input, at + 2) !== EXCLAMATION;
  return isComment && isInClass(unitAt(input, at - 1), WHITESPACE);
}

/** Returns the end of the syntax without effect that starts at `at`; `at` or less if there is none. */
function endOfNoOp(input: NormalizedText, at: number, comments: CommentEnds): number {
  const code = input.codes[at] ?? 0;
  if (isInClass(code, QUOTE)) return endOfNoOpQuotes(input, at, code);
  const next = unitAt(input, at + 1);
  if (code === SLASH) return next === STAR ? comments.after(at + 2) : at;
  if (code === LESS && next === EXCLAMATION) return endOfHtmlComment(input, at);
  if (code === DOLLAR && isInClass(unitAt(input, at - 1), WORD)) return endOfEmptyExpansion(input, at, next);
  const isProcessSubstitution = (code === LESS || code === GREATER) && next === OPEN_PAREN;
  if (isProcessSubstitution && unitAt(input, at + 2) === CLOSE_PAREN) return at + 3;
  // `w^hoami`: an escape character of the Windows shell.
  if (code === CARET && isInClass(unitAt(input, at - 1), LETTER) && isInClass(next, LETTER)) return at + 1;
  return at;
}

function endOfHtmlComment(input: NormalizedText, at: number): number {
  if (unitAt(input, at + 2) !== DASH || unitAt(input, at + 3) !== DASH) return at;
  for (let end = at + 4; end < at + 68; end++) {
    if (unitAt(input, end) === DASH && unitAt(input, end + 1) === DASH && unitAt(input, end + 2) === GREATER)
      return end + 3;
  }
  // No pattern is tried meanwhile, so check the limit here. Reading a unit takes half as long as a step.
  input.work.steps += 32;
  checkWork(input.work);
  return at;
}

const EMPTY_PARAMETERS = charSet(0, "@*!?$");
/** `$@`, `$*`, `$()` and similar expand to nothing, and so does a one-letter variable, which is usually not set. */
function endOfEmptyExpansion(input: NormalizedText, at: number, next: number): number {
  if (charSetHas(EMPTY_PARAMETERS, next)) return at + 2;
  if (next === OPEN_PAREN && unitAt(input, at + 2) === CLOSE_PAREN) return at + 3;
  return isInClass(next, LETTER) && !isInClass(unitAt(input, at + 2), WORD) ? at + 2 : at;
}

/** Empty quotes in a word, the boundary between concatenated strings (`'sys'.'tem'`), and quotes around part of a word. */
function endOfNoOpQuotes(input: NormalizedText, at: number, code: number): number {
  const { codes, work } = input;
  // Zeros follow the text, so that the next unit needs no comparison with its length.
  const before = at > 0 ? (codes[at - 1] ?? 0) : 0;
  const next = codes[at + 1] ?? 0;
  const isAfterWord = isInClass(before, WORD);
  const mayClose = isAfterWord || before === SLASH;
  const mayOpen = isWordOrPath(next);
  if (!mayClose && !mayOpen) {
    work.steps++;
    return at;
  }
  work.steps += mayClose ? STEPS_PER_QUOTE : STEPS_PER_QUOTE / 2;
  if (isAfterWord) {
    if (next === code) return at + 2;
    const end = code === BACKTICK ? at : endOfConcatenation(input, at, code);
    if (end > at) return end;
  }
  return (mayClose && closesPart(input, at, code)) || (mayOpen && opensPart(input, at, code)) ? at + 1 : at;
}

/** `code` is a quote after a word. */
function endOfConcatenation(input: NormalizedText, at: number, code: number): number {
  let end = at + 1;
  if (isInClass(unitAt(input, end), WHITESPACE)) end++;
  const operator = unitAt(input, end);
  if (operator === DOT || operator === PLUS) end++;
  if (isInClass(unitAt(input, end), WHITESPACE)) end++;
  const follows = unitAt(input, end) === code && end > at + 1 && isInClass(unitAt(input, end + 1), WORD);
  return follows ? end + 1 : at;
}

/** The opening quote around one to five characters of a longer word: `'wh'oami`, `/et'c/pa'sswd`. */
function opensPart(input: NormalizedText, at: number, code: number): boolean {
  const close = otherQuote(input, at + 1, code, 1);
  if (close < 0) return false;
  return isWordOrPath(unitAt(input, at - 1)) || isInClass(unitAt(input, close + 1), LETTER);
}

/** The closing quote around one to five characters of a longer word. */
function closesPart(input: NormalizedText, at: number, code: number): boolean {
  const open = otherQuote(input, at - 1, code, -1);
  if (open < 0) return false;
  return isWordOrPath(unitAt(input, open - 1)) || isInClass(unitAt(input, at + 1), LETTER);
}

function isWordOrPath(code: number): boolean {
  return isInClass(code, LETTER) || code === SLASH;
}

/** Returns the position of the matching quote within five letters or slashes in the direction of `step`; -1 if none. */
function otherQuote(input: NormalizedText, at: number, code: number, step: number): number {
  let index = at;
  while (Math.abs(index - at) < 6 && isWordOrPath(unitAt(input, index))) index += step;
  return index !== at && unitAt(input, index) === code ? index : -1;
}
