// Access to members of an object, as attackers write it: whitespace around the dot, optional chaining, computed names.
import { isInClass, QUOTE } from "../char-classes.ts";
import { DOT, QUESTION } from "../char-codes.ts";
import { choice, keyword, lit, opt, oneOf, peek, seq } from "../combinators.ts";
import { endOfWord } from "../keyword-set.ts";
import { skipWhitespaceBack, wordBefore, type LookBehind } from "../look-behind.ts";
import { NO_MATCH, type Matcher } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { ows, owsAndComments, quote, rws } from "../tokens.ts";

/** A dot with optional whitespace, but not the period of a sentence: `a.b`, `a . b`, `a .b`. */
export const dot: Matcher = choice(lit("."), seq(rws, lit("."), ows));
/** A dot of JavaScript: also `a?.b`. */
export const jsDot: Matcher = choice(seq(opt(lit("?")), lit(".")), seq(rws, opt(lit("?")), lit("."), ows));

/** The parenthesis of a call. */
const call = seq(owsAndComments, lit("("));
const literal: Matcher = choice(quote, oneOf("[$"));

/** Matches a call of one of these members: `.system(`, ` . system (`, and `. system('` with a literal argument. */
export function memberCall(names: readonly string[]): Matcher {
  const name = keyword(names);
  return choice(seq(dot, name, call), seq(lit("."), rws, name, call, ows, peek(literal)));
}

/** Matches a member of JavaScript: `.write`, `?.write`, ` . write`, `["write"]`. */
export function jsMember(names: readonly string[]): Matcher {
  return choice(seq(jsDot, keyword(names)), computedMember(names));
}

/** Matches a member in brackets: `["write"]`. Concatenated strings are joined before: `["wri" + "te"]`. */
export function computedMember(names: readonly string[]): Matcher {
  return seq(ows, opt(lit("?.")), ows, lit("["), ows, quote, keyword(names), quote, ows, lit("]"));
}

/**
 * Returns a look-behind that matches if the name is a member of one of these objects: `os.system`, `os . system`, `os?.x`. Triggers
 * on the member are rarer than triggers on a short name such as `os`.
 */
export function memberOf(objects: readonly string[]): LookBehind {
  const known = new Set(objects);
  return (input, at) => {
    const afterDot = skipWhitespaceBack(input, at);
    if (unitAt(input, afterDot - 1) !== DOT) return NO_MATCH;
    const beforeDot = unitAt(input, afterDot - 2) === QUESTION ? afterDot - 2 : afterDot - 1;
    const nameEnd = skipWhitespaceBack(input, beforeDot);
    // The period of a sentence: `the OS. System (…)`.
    if (afterDot < at && nameEnd === beforeDot && !hasLiteralArgument(input, at)) return NO_MATCH;
    const object = wordBefore(input, nameEnd);
    const start = nameEnd - object.length;
    return known.has(object) && unitAt(input, start - 1) !== DOT ? start : NO_MATCH;
  };
}

const literalArgument = seq(call, ows, literal);

function hasLiteralArgument(input: NormalizedText, at: number): boolean {
  return literalArgument(input, endOfWord(input, at)) >= 0;
}

const OPEN_BRACKET = 0x5b;

/** Returns a look-behind that matches if the name is a computed member of one of these objects: `self["alert`. */
export function computedMemberOf(objects: readonly string[]): LookBehind {
  const known = new Set(objects);
  return (input, at) => {
    if (!isInClass(unitAt(input, at - 1), QUOTE)) return NO_MATCH;
    const bracket = skipWhitespaceBack(input, at - 1) - 1;
    if (unitAt(input, bracket) !== OPEN_BRACKET) return NO_MATCH;
    let nameEnd = skipWhitespaceBack(input, bracket);
    if (unitAt(input, nameEnd - 1) === DOT && unitAt(input, nameEnd - 2) === QUESTION)
      nameEnd = skipWhitespaceBack(input, nameEnd - 2);
    const object = wordBefore(input, nameEnd);
    return known.has(object) ? nameEnd - object.length : NO_MATCH;
  };
}
