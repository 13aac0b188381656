// Command names: matching one of a list, and cheap tests that reject most words.
import { isInClass, QUOTE, SPACE, WORD } from "../char-classes.ts";
import { DOLLAR, DOT, SLASH } from "../char-codes.ts";
import { charSet, charSetHas } from "../char-set.ts";
import { isTextAt, KeywordSet, splitWords } from "../keyword-set.ts";
import { NO_MATCH, withPrefixes, withWords, type Matcher } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { hasPrefix, prefixesOf, type PrefixSet } from "../prefix-set.ts";
import { wordSetOf } from "../word-set.ts";
import { stepsToRead } from "../work-budget.ts";
import { COMMANDS } from "./shell-commands.ts";

/** The quotes around a command name. A backtick starts a substitution. */
const STRING_QUOTES = charSet(0, "'\"");

/** Matches one of the command names, optionally in quotes. Not a file name (`cat.txt`) or a possessive (`cat's`). */
export function commandOf(names: readonly string[] | ReadonlySet<string>): Matcher {
  const quotedNames = () => [...names].flatMap((name) => [name, `'${name}`, `"${name}`]);
  let known: KeywordSet | null = null;
  let prefixes: PrefixSet | null = null;
  const match = (input: NormalizedText, at: number): number => {
    prefixes ??= prefixesOf(quotedNames());
    if (!hasPrefix(prefixes, unitAt(input, at), unitAt(input, at + 1))) return NO_MATCH;
    const isQuoted = charSetHas(STRING_QUOTES, unitAt(input, at));
    const start = isQuoted ? at + 1 : at;
    const end = endOfCommandName(input, start);
    input.work.steps += 1 + stepsToRead(end - start);
    known ??= new KeywordSet(names);
    if (!known.has(input, start, end)) return NO_MATCH;
    if (!isQuoted) return unitAt(input, end) === DOT || isTextAt(input, end, "'s") ? NO_MATCH : end;
    return unitAt(input, end) === unitAt(input, at) ? end + 1 : NO_MATCH;
  };
  return withWords(
    () => wordSetOf(names),
    withPrefixes(() => prefixesOf(quotedNames()), match),
  );
}

const MAX_NAME = 24;
const NAME_UNITS = charSet(WORD, "-");

function endOfCommandName(input: NormalizedText, start: number): number {
  const { codes } = input;
  const last = Math.min(start + MAX_NAME, input.length);
  let end = start;
  while (end < last && charSetHas(NAME_UNITS, codes[end] ?? 0)) end++;
  return end;
}

/** Returns false if the next word is not in quotes with a space after it. */
export function isQuotedWord(input: NormalizedText, at: number): boolean {
  const wordEnd = endOfCommandName(input, at);
  input.work.steps += stepsToRead(wordEnd - at);
  return wordEnd === at || (isInClass(unitAt(input, wordEnd), QUOTE) && unitAt(input, wordEnd + 1) === SPACE);
}

/** Words that a command line can start with. */
const FIRST_WORDS = new KeywordSet([
  ...COMMANDS,
  ...splitWords(`sleep echo dir set net if while until for bin sbin usr local`),
]);
/** The first directory of a path to a program. */
const FIRST_DIRECTORIES = new KeywordSet(["usr", "local", "bin", "sbin"]);

/** Returns false if the next word starts no command line. */
export function mayStartCommand(input: NormalizedText, at: number): boolean {
  const first = unitAt(input, at);
  const isPath = first === SLASH;
  const start = isPath || charSetHas(STRING_QUOTES, first) ? at + 1 : at;
  if (!isInClass(unitAt(input, start), WORD)) return first === DOLLAR;
  const wordEnd = endOfCommandName(input, start);
  input.work.steps += stepsToRead(wordEnd - start);
  if (!isPath) return FIRST_WORDS.has(input, start, wordEnd);
  return unitAt(input, wordEnd) === SLASH && FIRST_DIRECTORIES.has(input, start, wordEnd);
}
