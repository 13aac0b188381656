// The patterns of operators: regular expressions of ECMA-262, and one shorthand.
import { LinearPattern } from "../../sdk/index.ts";

const IGNORES_CASE = "(?i)";

/** `(?i)` at the start, as other engines write it, is short for `(?i:…)` around the rest. Throws if the pattern is not supported. */
export function customPattern(source: string): LinearPattern {
  return source.startsWith(IGNORES_CASE)
    ? new LinearPattern(source.slice(IGNORES_CASE.length), { ignoresCase: true })
    : new LinearPattern(source);
}
