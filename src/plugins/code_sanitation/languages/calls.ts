// How a call is told from a word: shared by the languages whose danger lies in calling a function by its name.
import { isInClass, LETTER, SPACE, WHITESPACE, WORD } from "../char-classes.ts";
import { charSet, charSetExcept, NOT_WORD } from "../char-set.ts";
import { choice, lit, oneOf, opt, run, seq } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { skipWhitespaceBack, wordBefore, type LookBehind } from "../look-behind.ts";
import { NO_MATCH, withFirstSetOf, type Matcher } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, identifier, ows, owsAndComments, quote, wordBoundary } from "../tokens.ts";

/** Words before a name that declare it instead of calling it. */
const DECLARING = new Set(
  splitWords(`
  def function func fn fun void sub procedure bool int string
`),
);
/** Words before a name after which a call is still code. */
const CODE_WORDS = new Set(
  splitWords(`
  return else do then and or not await echo print if in new yield raise throw
`),
);

const DOT = 0x2e;
const BACKTICK = 0x60;

/** The receiver of a method call: `window` of `window.eval`; null where the name stands alone. */
function receiverOf(input: NormalizedText, at: number): string | null {
  const before = unitAt(input, at - 1);
  if (before === DOT) {
    const end = unitAt(input, at - 2) === 0x3f ? at - 2 : at - 1;
    return wordBefore(input, end);
  }
  if (before === 0x3e && unitAt(input, at - 2) === 0x2d) return "->";
  if (before === 0x3a && unitAt(input, at - 2) === 0x3a) return wordBefore(input, at - 2);
  return null;
}

/** The name stands alone, or belongs to one of the receivers named; it is not being declared. */
export function calledOn(receivers: readonly string[]): LookBehind {
  const known = new Set(receivers);
  return (input, at) => {
    if (isInClass(unitAt(input, at - 1), WORD)) return NO_MATCH;
    const receiver = receiverOf(input, at);
    if (receiver !== null) return known.has(receiver) ? at - receiver.length - 1 : NO_MATCH;
    const position = skipWhitespaceBack(input, at);
    return position < at && DECLARING.has(wordBefore(input, position)) ? NO_MATCH : at;
  };
}

/** Before a name that is qualified by nothing, as `os` in `os.system`. */
export const UNQUALIFIED = charSetExcept(WORD, ".");

/** Prose before a position: a word and one blank, where the word is none that code has there. */
function isProseBefore(input: NormalizedText, at: number): boolean {
  if (unitAt(input, at - 1) !== SPACE || !isInClass(unitAt(input, at - 2), WORD)) return false;
  return !CODE_WORDS.has(wordBefore(input, at - 1));
}

/** Prose behind a position: a word follows, or the sentence goes on or ends. */
function isProseAfter(input: NormalizedText, at: number): boolean {
  const next = unitAt(input, at);
  if (next === SPACE) return isInClass(unitAt(input, at + 1), LETTER);
  if (next === 0 || !".,:?!".includes(String.fromCharCode(next))) return false;
  return at + 1 >= input.length || isInClass(unitAt(input, at + 1), WHITESPACE);
}

const open = seq(owsAndComments, lit("("), ows);
const close = seq(ows, lit(")"));
const letters: Matcher = run(LETTER, 1, 8);
/** `system(s)`, `system(OS)`: prose in parentheses. */
const aside: Matcher = choice(seq(lit("s)")), (input, at) => {
  const ending = letters(input, at);
  if (ending < 0 || unitAt(input, ending) !== 0x29) return NO_MATCH;
  for (let index = at; index < ending; index++) if (unitAt(input, index) > 0x5a) return NO_MATCH;
  return ending + 1;
});
const literalArgument: Matcher = choice(quote, oneOf("$@&*[{"), digits, seq(identifier, oneOf("([+.")));

/** A call's parenthesis behind a name of `length` units, and an argument list that prose would not have. */
export function callArguments(length: number): Matcher {
  return withFirstSetOf(open, false, (input, at) => {
    const inside = open(input, at);
    if (inside < 0) return NO_MATCH;
    const start = at - length;
    const closed = close(input, inside);
    const prose = isProseBefore(input, start);
    if (closed >= 0) return isMention(input, start, closed, prose) ? NO_MATCH : closed;
    if (aside(input, inside) >= 0) return NO_MATCH;
    const sqlRws = unitAt(input, at) === SPACE;
    if (!prose && !sqlRws) return inside;
    if (prose && sqlRws) return NO_MATCH;
    return literalArgument(input, inside) < 0 ? NO_MATCH : inside;
  });
}

/** `what does eval() do`, `` `eval()` ``: a call of nothing that a sentence speaks about. */
function isMention(input: NormalizedText, start: number, closed: number, prose: boolean): boolean {
  if (unitAt(input, start - 1) === BACKTICK && unitAt(input, closed) === BACKTICK) return true;
  return prose && isProseAfter(input, closed);
}

const CALL_FOLLOWS = charSet(WHITESPACE, "(/#");

/** Calls of functions whose names are words of prose too. */
export function callPatterns(id: string, names: readonly string[], receivers: readonly string[]): Pattern[] {
  const before = calledOn(receivers);
  return names.map((name) =>
    pattern(id, [name], {
      precededBy: NOT_WORD,
      followedBy: CALL_FOLLOWS,
      before,
      after: callArguments(name.length),
    }),
  );
}

/** Calls of functions whose names nobody writes by chance. */
export const call: Matcher = seq(owsAndComments, lit("("));

const index = seq(lit("["), ows, digits, ows, lit("]"), ows);
/** `"system"(…)`, `(system)(…)`, `["system"](…)`: the name as a value that is called at once. */
export const calledValue: Matcher = seq(
  wordBoundary,
  opt(seq(ows, quote)),
  choice(
    seq(ows, oneOf(")}"), ows, opt(index), lit("(")),
    seq(ows, lit("]"), ows, index, lit("(")),
    seq(ows, lit("(")),
  ),
);

/** The name is in quotes or brackets of its own. */
export const asValue: LookBehind = (input, at) => {
  let start = at;
  while (at - start < 3 && start > 0 && "'\"([ {".includes(String.fromCharCode(unitAt(input, start - 1))))
    start--;
  if (start === at || (isInClass(unitAt(input, at - 1), WHITESPACE) && start === at - 1)) return NO_MATCH;
  // `require('x') (…)`, `[x](…)`: a call of another function, and a link.
  return unitAt(input, start) === 0x28 && isInClass(unitAt(input, start - 1), WORD) ? NO_MATCH : start;
};
