// Function calls: distinguishes a call such as `eval(x)` from a mention in prose and from a declaration. Shared by the languages
// whose attacks are calls of certain functions.
import { isInClass, LETTER, QUOTE, SPACE, WHITESPACE, WORD } from "../char-classes.ts";
import { BACKTICK, CLOSE_PAREN, COLON, DASH, DOT, GREATER, OPEN_PAREN, QUESTION } from "../char-codes.ts";
import { charSet, charSetExcept, charSetHas, NOT_WORD } from "../char-set.ts";
import { choice, exact, except, keyword, lit, oneOf, opt, peek, run, seq, times } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { skipWhitespaceBack, wordBefore, type LookBehind } from "../look-behind.ts";
import { NO_MATCH, withFirstSetOf, type Matcher } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { pattern, type Pattern, type PatternConditions } from "../pattern.ts";
import { digits, identifier, ows, owsAndComments, quote, rws, wordBoundary } from "../tokens.ts";
import { endsText, startsText } from "./lone-text.ts";

/** Keywords before a name that declare it instead of calling it. */
const DECLARATION_KEYWORDS = new Set(
  splitWords(`
  def function func fn fun void sub procedure bool int string
`),
);
/** Words that may precede a call in code. Any other word before a call suggests prose. */
const CODE_KEYWORDS = new Set(
  splitWords(`
  return else do then and or not await echo print puts if in new yield raise throw while until unless elif
  assert
`),
);

/** Returns the receiver of a method call, such as `window` in `window.eval`; null if the name has none. */
function receiverOf(input: NormalizedText, at: number): string | null {
  const before = unitAt(input, at - 1);
  if (before === DOT) {
    const end = unitAt(input, at - 2) === QUESTION ? at - 2 : at - 1;
    return wordBefore(input, skipWhitespaceBack(input, end));
  }
  // `window . eval`, but not the period of a sentence before the call.
  if (before === SPACE && unitAt(input, at - 2) === DOT && unitAt(input, at - 3) === SPACE)
    return wordBefore(input, skipWhitespaceBack(input, at - 2));
  if (before === GREATER && unitAt(input, at - 2) === DASH) return "->";
  if (before === COLON && unitAt(input, at - 2) === COLON) return wordBefore(input, at - 2);
  return null;
}

/** Returns a look-behind that matches if the name has no receiver or one of these, and is not a declaration. */
export function calledOn(receivers: readonly string[]): LookBehind {
  const known = new Set(receivers);
  return (input, at) => {
    if (isInClass(unitAt(input, at - 1), WORD)) return NO_MATCH;
    const receiver = receiverOf(input, at);
    if (receiver !== null) return known.has(receiver) ? at - receiver.length - 1 : NO_MATCH;
    const position = skipWhitespaceBack(input, at);
    return position < at && DECLARATION_KEYWORDS.has(wordBefore(input, position)) ? NO_MATCH : at;
  };
}

/** Units that may precede a name without a qualifier, such as `os` in `os.system`. */
export const UNQUALIFIED = charSetExcept(WORD, ".");

/** Returns whether a word and one space precede, and the word is not typical of code. */
export function isProseBefore(input: NormalizedText, at: number): boolean {
  if (unitAt(input, at - 1) !== SPACE || !isInClass(unitAt(input, at - 2), WORD)) return false;
  return !CODE_KEYWORDS.has(wordBefore(input, at - 1));
}

const SENTENCE_PUNCTUATION = charSet(0, ".,:?!");

/** Returns whether a word or the punctuation of a sentence follows. */
function isProseAfter(input: NormalizedText, at: number): boolean {
  const next = unitAt(input, at);
  if (next === SPACE) return isInClass(unitAt(input, at + 1), LETTER);
  if (!charSetHas(SENTENCE_PUNCTUATION, next)) return false;
  return at + 1 >= input.length || isInClass(unitAt(input, at + 1), WHITESPACE | QUOTE);
}

const UPPER_CASE_Z = 0x5a;

const openParen = seq(owsAndComments, lit("("), ows);
const closeParen = seq(ows, lit(")"));
const letters: Matcher = run(LETTER, 1, 8);
/** The parentheses of `system(s)` and `system(OS)`: prose. */
const proseInParentheses: Matcher = choice(seq(lit("s)")), (input, at) => {
  const end = letters(input, at);
  if (end < 0 || unitAt(input, end) !== CLOSE_PAREN) return NO_MATCH;
  for (let index = at; index < end; index++) if (unitAt(input, index) > UPPER_CASE_Z) return NO_MATCH;
  return end + 1;
});
/** Arguments without effect: `eval(...)` and `exec(String)` in documentation, `system("pause")` in programs of beginners. */
const harmlessArgument: Matcher = choice(
  lit("...)"),
  exact("String)"),
  seq(quote, keyword(["pause", "cls", "clear"]), quote, ows, lit(")")),
);
/** The parameters of a declaration: `eval(code: string)`, `exec(command) {`. */
const parametersOfDeclaration: Matcher = choice(
  seq(identifier, opt(lit("?")), ows, lit(":"), ows, letters),
  seq(except("()\n", 0, 60), lit(")"), ows, lit("{")),
);
const literalArgument: Matcher = choice(quote, oneOf("$@&*[{"), digits, seq(identifier, oneOf("([+.")));

/** Matches the opening parenthesis after a name of `length` units, if its arguments do not look like prose. */
function callArguments(length: number): Matcher {
  return withFirstSetOf(openParen, false, (input, at) => {
    const argumentsStart = openParen(input, at);
    if (argumentsStart < 0) return NO_MATCH;
    const nameStart = at - length;
    const callEnd = closeParen(input, argumentsStart);
    const followsProse = isProseBefore(input, nameStart);
    if (callEnd >= 0) return isMention(input, nameStart, callEnd, followsProse) ? NO_MATCH : callEnd;
    if (isHarmless(input, argumentsStart)) return NO_MATCH;
    const hasSpace = unitAt(input, at) === SPACE && !isSpacedMember(input, nameStart);
    if (!followsProse && !hasSpace) return argumentsStart;
    if (followsProse && hasSpace) return NO_MATCH;
    if (literalArgument(input, argumentsStart) >= 0) return argumentsStart;
    return startsText(input, nameStart) < 0 ? NO_MATCH : endOfLoneCall(input, argumentsStart);
  });
}

/** `window . eval (x)`: whitespace before the parenthesis is a matter of style, not of prose. */
function isSpacedMember(input: NormalizedText, nameStart: number): boolean {
  return (
    unitAt(input, nameStart - 1) === SPACE &&
    unitAt(input, nameStart - 2) === DOT &&
    receiverOf(input, nameStart) !== null
  );
}

function isHarmless(input: NormalizedText, argumentsStart: number): boolean {
  return (
    proseInParentheses(input, argumentsStart) >= 0 ||
    harmlessArgument(input, argumentsStart) >= 0 ||
    parametersOfDeclaration(input, argumentsStart) >= 0
  );
}

const singleArgument = seq(except("() \n", 1, 40), lit(")"), endsText);
/** A text that consists of a call with one argument: `exec (x)`. */
function endOfLoneCall(input: NormalizedText, argumentsStart: number): number {
  return singleArgument(input, argumentsStart);
}

const threeWords: Matcher = times(3, 3, seq(rws, run(LETTER, 1, 16), wordBoundary));

/** Returns whether a call without arguments is only mentioned: `what does eval() do`, `` `eval()` ``. */
function isMention(
  input: NormalizedText,
  nameStart: number,
  callEnd: number,
  followsProse: boolean,
): boolean {
  const before = unitAt(input, nameStart - 1);
  if (isInClass(before, QUOTE) && unitAt(input, callEnd) === before)
    return before === BACKTICK || isProseAfter(input, callEnd + 1);
  // Keywords are words of prose too: `while exec() only returns a line`.
  return (
    isProseAfter(input, callEnd) && (followsProse || (before === SPACE && threeWords(input, callEnd) >= 0))
  );
}

/** Units that may follow the name in a call. */
const AFTER_CALLED_NAME = charSet(WHITESPACE, "(/#");

/** Returns patterns for calls of functions whose names also occur in prose. The texts describe them together. */
export function callPatterns(
  id: string,
  names: readonly string[],
  receivers: readonly string[],
  texts: PatternConditions,
): Pattern[] {
  const before = calledOn(receivers);
  return names.map((name) =>
    pattern(id, [name], {
      ...texts,
      precededBy: NOT_WORD,
      followedBy: AFTER_CALLED_NAME,
      before,
      after: callArguments(name.length),
    }),
  );
}

/** The parenthesis of a call, for functions whose names do not occur in prose. */
export const call: Matcher = seq(owsAndComments, lit("("));

const index = seq(lit("["), ows, digits, ows, lit("]"), ows);
const calledInBrackets: Matcher = choice(
  seq(ows, oneOf(")}"), ows, opt(index), lit("(")),
  seq(ows, lit("]"), ows, index, opt(seq(lit("}"), ows)), lit("(")),
);
/** Matches after the name in `"system"(…)`, `(system)(…)` and `["system"][0](…)`: a name used as a value and called. */
export const callOfValue: Matcher = choice(
  seq(ows, quote, choice(lit("("), seq(rws, lit("("), peek(quote)), calledInBrackets)),
  calledInBrackets,
);

const QUOTES_AND_BRACKETS = charSet(0, "'\"([ {");

/** Matches if quotes or brackets around the name precede it. */
export const inQuotesOrBrackets: LookBehind = (input, at) => {
  let start = at;
  while (at - start < 3 && charSetHas(QUOTES_AND_BRACKETS, unitAt(input, start - 1))) start--;
  if (start === at || (isInClass(unitAt(input, at - 1), WHITESPACE) && start === at - 1)) return NO_MATCH;
  // Not the parenthesis of another call, as in `require('x') (…)`.
  return unitAt(input, start) === OPEN_PAREN && isInClass(unitAt(input, start - 1), WORD) ? NO_MATCH : start;
};
