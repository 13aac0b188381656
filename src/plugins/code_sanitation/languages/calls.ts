// How a call is told from a word: shared by the languages whose danger lies in calling a function by its name.
import { BLANK, isOf, LETTER, SPACE, WORD } from "../char-classes.ts";
import {
  any,
  blanks,
  blanksAndComments,
  blanksBack,
  digits,
  identifier,
  lit,
  NO_MATCH,
  oneOf,
  opt,
  quote,
  run,
  seq,
  wordBack,
  wordEnd,
  type Before,
  words,
} from "../grammar.ts";
import { edge, edgeWithout, NOT_WORD } from "../edge.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { like, type Rule } from "../rule.ts";
import { unitAt, type View } from "../view.ts";

/** Words before a name that declare it instead of calling it. */
const DECLARING = new Set(
  words(`
  def function func fn fun void sub procedure bool int string
`),
);
/** Words before a name after which a call is still code. */
const CODE_WORDS = new Set(
  words(`
  return else do then and or not await echo print if in new yield raise throw
`),
);

const DOT = 0x2e;
const BACKTICK = 0x60;

/** The receiver of a method call: `window` of `window.eval`; null where the name stands alone. */
function receiverOf(view: View, at: number): string | null {
  const before = unitAt(view, at - 1);
  if (before === DOT) {
    const end = unitAt(view, at - 2) === 0x3f ? at - 2 : at - 1;
    return wordBack(view, end);
  }
  if (before === 0x3e && unitAt(view, at - 2) === 0x2d) return "->";
  if (before === 0x3a && unitAt(view, at - 2) === 0x3a) return wordBack(view, at - 2);
  return null;
}

/** The name stands alone, or belongs to one of the receivers named; it is not being declared. */
export function calledOn(receivers: readonly string[]): Before {
  const known = new Set(receivers);
  return (view, at) => {
    if (isOf(unitAt(view, at - 1), WORD)) return NO_MATCH;
    const receiver = receiverOf(view, at);
    if (receiver !== null) return known.has(receiver) ? at - receiver.length - 1 : NO_MATCH;
    const position = blanksBack(view, at);
    return position < at && DECLARING.has(wordBack(view, position)) ? NO_MATCH : at;
  };
}

/** Before a name that is qualified by nothing, as `os` in `os.system`. */
export const UNQUALIFIED = edgeWithout(WORD, ".");

/** Prose before a position: a word and one blank, where the word is none that code has there. */
function proseBefore(view: View, at: number): boolean {
  if (unitAt(view, at - 1) !== SPACE || !isOf(unitAt(view, at - 2), WORD)) return false;
  return !CODE_WORDS.has(wordBack(view, at - 1));
}

/** Prose behind a position: a word follows, or the sentence goes on or ends. */
function proseBehind(view: View, at: number): boolean {
  const next = unitAt(view, at);
  if (next === SPACE) return isOf(unitAt(view, at + 1), LETTER);
  if (next === 0 || !".,:?!".includes(String.fromCharCode(next))) return false;
  return at + 1 >= view.length || isOf(unitAt(view, at + 1), BLANK);
}

const open = seq(blanksAndComments, lit("("), blanks);
const close = seq(blanks, lit(")"));
const letters: Rule = run(LETTER, 1, 8);
/** `system(s)`, `system(OS)`: prose in parentheses. */
const aside: Rule = any(seq(lit("s)")), (view, at) => {
  const ending = letters(view, at);
  if (ending < 0 || unitAt(view, ending) !== 0x29) return NO_MATCH;
  for (let index = at; index < ending; index++) if (unitAt(view, index) > 0x5a) return NO_MATCH;
  return ending + 1;
});
const literalArgument: Rule = any(quote, oneOf("$@&*[{"), digits, seq(identifier, oneOf("([+.")));

/** A call's parenthesis behind a name of `length` units, and an argument list that prose would not have. */
export function callArguments(length: number): Rule {
  return like(open, false, (view, at) => {
    const inside = open(view, at);
    if (inside < 0) return NO_MATCH;
    const start = at - length;
    const closed = close(view, inside);
    const prose = proseBefore(view, start);
    if (closed >= 0) return isMention(view, start, closed, prose) ? NO_MATCH : closed;
    if (aside(view, inside) >= 0) return NO_MATCH;
    const spaced = unitAt(view, at) === SPACE;
    if (!prose && !spaced) return inside;
    if (prose && spaced) return NO_MATCH;
    return literalArgument(view, inside) < 0 ? NO_MATCH : inside;
  });
}

/** `what does eval() do`, `` `eval()` ``: a call of nothing that a sentence speaks about. */
function isMention(view: View, start: number, closed: number, prose: boolean): boolean {
  if (unitAt(view, start - 1) === BACKTICK && unitAt(view, closed) === BACKTICK) return true;
  return prose && proseBehind(view, closed);
}

const CALL_FOLLOWS = edge(BLANK, "(/#");

/** Calls of functions whose names are words of prose too. */
export function callPatterns(id: string, names: readonly string[], receivers: readonly string[]): Pattern[] {
  const before = calledOn(receivers);
  return names.map((name) =>
    pattern(id, [name], { prev: NOT_WORD, next: CALL_FOLLOWS, before, after: callArguments(name.length) }),
  );
}

/** Calls of functions whose names nobody writes by chance. */
export const call: Rule = seq(blanksAndComments, lit("("));

const index = seq(lit("["), blanks, digits, blanks, lit("]"), blanks);
/** `"system"(…)`, `(system)(…)`, `["system"](…)`: the name as a value that is called at once. */
export const calledValue: Rule = seq(
  wordEnd,
  opt(seq(blanks, quote)),
  any(
    seq(blanks, oneOf(")}"), blanks, opt(index), lit("(")),
    seq(blanks, lit("]"), blanks, index, lit("(")),
    seq(blanks, lit("(")),
  ),
);

/** The name is in quotes or brackets of its own. */
export const asValue: Before = (view, at) => {
  let start = at;
  while (at - start < 3 && start > 0 && "'\"([ {".includes(String.fromCharCode(unitAt(view, start - 1))))
    start--;
  if (start === at || (isOf(unitAt(view, at - 1), BLANK) && start === at - 1)) return NO_MATCH;
  // `require('x') (…)`, `[x](…)`: a call of another function, and a link.
  return unitAt(view, start) === 0x28 && isOf(unitAt(view, start - 1), WORD) ? NO_MATCH : start;
};
