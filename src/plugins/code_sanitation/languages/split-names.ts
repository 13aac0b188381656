// Names that are put together from pieces and called: `('sys'.'tem')('id')`, `(sy.(st).em)('id')`.
import { isInClass, QUOTE, toLower, WHITESPACE, WORD } from "../char-classes.ts";
import { CLOSE_PAREN, OPEN_BRACKET, OPEN_PAREN } from "../char-codes.ts";
import { charSet, charSetHas } from "../char-set.ts";
import type { LookBehind } from "../look-behind.ts";
import { NO_MATCH } from "../matcher.ts";
import { unitAt } from "../normalized-text.ts";

const MAX_GROUP_LENGTH = 48;
/** What may be between the pieces of a name. */
const SEPARATORS = charSet(QUOTE | WHITESPACE, ".+()[]");

/** Returns a look-behind that matches at a `)` if the letters in its parentheses spell one of the names. */
export function parenthesesSpell(names: readonly string[]): LookBehind {
  const known = new Set(names);
  return (input, at) => {
    let depth = 1;
    let name = "";
    for (let index = at - 1; index >= Math.max(0, at - MAX_GROUP_LENGTH); index--) {
      input.work.steps++;
      const code = unitAt(input, index);
      if (isInClass(code, WORD)) name = String.fromCharCode(toLower(code)) + name;
      else if (!charSetHas(SEPARATORS, code)) return NO_MATCH;
      if (code === CLOSE_PAREN) depth++;
      if (code === OPEN_PAREN && --depth === 0) {
        const isArgument = isInClass(unitAt(input, index - 1), WORD);
        return known.has(name) && !isArgument ? index : NO_MATCH;
      }
    }
    return NO_MATCH;
  };
}

/** What may be between the pieces of an array. */
const ARRAY_SEPARATORS = charSet(QUOTE | WHITESPACE, ",");

/** Returns a look-behind that matches at a `]` if the texts of its array spell one of the names. */
export function bracketsSpell(names: readonly string[]): LookBehind {
  const known = new Set(names);
  return (input, at) => {
    let name = "";
    for (let index = at - 1; index >= Math.max(0, at - 2 * MAX_GROUP_LENGTH); index--) {
      input.work.steps++;
      const code = unitAt(input, index);
      if (code === OPEN_BRACKET) return known.has(name) ? index : NO_MATCH;
      if (isInClass(code, WORD)) name = String.fromCharCode(toLower(code)) + name;
      else if (!charSetHas(ARRAY_SEPARATORS, code)) return NO_MATCH;
    }
    return NO_MATCH;
  };
}
