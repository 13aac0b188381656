// Names that are put together from pieces and called: `('sys'.'tem')('id')`, `(sy.(st).em)('id')`.
import { isInClass, QUOTE, toLower, WHITESPACE, WORD } from "../char-classes.ts";
import { CLOSE_PAREN, OPEN_BRACKET, OPEN_PAREN } from "../char-codes.ts";
import { charSet, charSetHas } from "../char-set.ts";
import type { LookBehind } from "../look-behind.ts";
import { NO_MATCH } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";

const MAX_GROUP_LENGTH = 48;
/** The pieces of a name, and what may be between them. */
const NAMES_AND_SEPARATORS = charSet(WORD | QUOTE | WHITESPACE, ".+()[]");

/** Returns a look-behind that matches at a `)` if the letters in its parentheses spell one of the names. */
export function parenthesesSpell(names: readonly string[]): LookBehind {
  const known = new Set(names);
  return (input, at) => {
    let depth = 1;
    for (let index = at - 1; index >= Math.max(0, at - MAX_GROUP_LENGTH); index--) {
      input.work.steps++;
      const code = unitAt(input, index);
      if (!charSetHas(NAMES_AND_SEPARATORS, code)) return NO_MATCH;
      if (code === CLOSE_PAREN) depth++;
      if (code === OPEN_PAREN && --depth === 0) {
        const isArgument = isInClass(unitAt(input, index - 1), WORD);
        return !isArgument && known.has(lettersOf(input, index, at)) ? index : NO_MATCH;
      }
    }
    return NO_MATCH;
  };
}

/** Returns the word characters of a range in lower case. */
function lettersOf(input: NormalizedText, from: number, to: number): string {
  let letters = "";
  for (let index = from; index < to; index++) {
    const code = unitAt(input, index);
    if (isInClass(code, WORD)) letters += String.fromCharCode(toLower(code));
  }
  input.work.steps += to - from;
  return letters;
}

/** The pieces of an array, and what may be between them. */
const NAMES_AND_COMMAS = charSet(WORD | QUOTE | WHITESPACE, ",");

/** Returns a look-behind that matches at a `]` if the texts of its array spell one of the names. */
export function bracketsSpell(names: readonly string[]): LookBehind {
  const known = new Set(names);
  return (input, at) => {
    for (let index = at - 1; index >= Math.max(0, at - 2 * MAX_GROUP_LENGTH); index--) {
      input.work.steps++;
      const code = unitAt(input, index);
      if (code === OPEN_BRACKET) return known.has(lettersOf(input, index, at)) ? index : NO_MATCH;
      if (!charSetHas(NAMES_AND_COMMAS, code)) return NO_MATCH;
    }
    return NO_MATCH;
  };
}
