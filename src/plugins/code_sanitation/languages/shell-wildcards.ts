// Shell patterns for paths with wildcards in place of letters: `/e?c/p*d`, `/[b]in/sh`.
import { DIGIT, isInClass, LETTER, toLower } from "../char-classes.ts";
import { QUESTION, SLASH, STAR } from "../char-codes.ts";
import { charSet, charSetHas } from "../char-set.ts";
import { splitWords } from "../keyword-set.ts";
import { NO_MATCH, withPrefixes, type Matcher } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { prefixesStartingWith } from "../prefix-set.ts";
import { BEFORE_PATH } from "./shell-context.ts";

const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const DIRECTORIES = splitWords(`etc bin usr var tmp dev home root proc opt sbin`);
/** What attacks look for in these directories. */
const FILES = splitWords(`
  passwd shadow group hosts hostname sudoers issue bin sbin local sh bash dash zsh cat tac ls id nc uname whoami wget curl
  ping head tail less more nl base64 python perl printf echo env ps rm
`);
/** `/?`, `/e?`, `/et?`, and the same with `*` and `[`: where the first wildcard of a directory's name may be. */
const WILDCARD_IN_DIRECTORY = [
  ...new Set(
    DIRECTORIES.flatMap((name) =>
      Array.from(name, (_, index) =>
        ["?", "*", "["].map((wildcard) => `/${name.slice(0, index)}${wildcard}`),
      ).flat(),
    ),
  ),
];

const MAX_COMPONENTS = 4;
/** The longest name, and a `*` that represents nothing. */
const DIRECTORY_UNITS = 1 + Math.max(...DIRECTORIES.map(({ length }) => length));
const COMPONENT_UNITS = 1 + Math.max(...FILES.map(({ length }) => length));
const AFTER_PATH = charSet(0, "/ \n\"'`;|&)}],<>\\\0");
/** Units of a component with at least one of them: letters, digits and wildcards. */
const COMPONENT = charSet(LETTER | DIGIT, "?*[");

/** The component of a path that was read last. Reused: most candidates are rejected, and a scan is synchronous. */
const glob = {
  /** The lower-case units, with every `[…]` replaced by `?`. */
  units: new Uint16Array(COMPONENT_UNITS),
  length: 0,
  letters: 0,
  /** Position of the first `*` in `units`; -1 if there is none. */
  star: -1,
  /** Whether it contains `?` or `[…]`. */
  hasAny: false,
  hasClass: false,
  /** The position after the component in the text. */
  end: 0,
};

/**
 * Reads the component at a position into `glob`. Returns false if it has more than `maxUnits`, or units that no known name has. In local
 * variables: most components are rejected before they end, and `glob` is written only then.
 */
function readComponent(input: NormalizedText, at: number, maxUnits: number): boolean {
  const { units } = glob;
  let length = 0;
  let letters = 0;
  let star = -1;
  let hasAny = false;
  let hasClass = false;
  let index = at;
  input.work.steps += STEPS_PER_COMPONENT;
  for (let unit = unitAt(input, index); !charSetHas(AFTER_PATH, unit); unit = unitAt(input, index)) {
    if (!charSetHas(COMPONENT, unit) || length === maxUnits) return false;
    let code = toLower(unit);
    index++;
    if (code === OPEN_BRACKET) {
      input.work.steps += STEPS_PER_CLASS;
      index = endOfClass(input, index);
      if (index < 0) return false;
      hasAny = hasClass = true;
      code = QUESTION;
    } else if (code === QUESTION) hasAny = true;
    else if (code !== STAR) letters += isInClass(code, LETTER) ? 1 : 0;
    else if (star < 0) star = length;
    units[length++] = code;
  }
  glob.length = length;
  glob.letters = letters;
  glob.star = star;
  glob.hasAny = hasAny;
  glob.hasClass = hasClass;
  glob.end = index;
  return true;
}

/** Returns the position after a class of at most six units, such as `[a-f]`; -1 if there is none. */
function endOfClass(input: NormalizedText, at: number): number {
  for (let index = at; index < at + 7 && index < input.length; index++)
    if (unitAt(input, index) === CLOSE_BRACKET) return index + 1;
  return -1;
}

/** Names, and those that a component with a given first letter, last letter or length can represent: few are compared. */
class NameIndex {
  readonly #names: readonly string[];
  readonly #byFirst: ReadonlyMap<number, readonly string[]>;
  readonly #byLast: ReadonlyMap<number, readonly string[]>;
  readonly #byLength: ReadonlyMap<number, readonly string[]>;

  constructor(names: readonly string[]) {
    this.#names = names;
    this.#byFirst = Map.groupBy(names, (name) => name.charCodeAt(0));
    this.#byLast = Map.groupBy(names, (name) => name.charCodeAt(name.length - 1));
    this.#byLength = Map.groupBy(names, ({ length }) => length);
  }

  /** Returns all names that `glob`, which is not empty, can match, and some others. */
  candidates(): readonly string[] {
    const { units, length, star } = glob;
    const first = units[0] ?? 0;
    if (first !== QUESTION && first !== STAR) return this.#byFirst.get(first) ?? NO_NAMES;
    if (star < 0) return this.#byLength.get(length) ?? NO_NAMES;
    const last = units[length - 1] ?? 0;
    return last !== QUESTION && last !== STAR ? (this.#byLast.get(last) ?? NO_NAMES) : this.#names;
  }
}

const NO_NAMES: readonly string[] = [];
const DIRECTORY_INDEX = new NameIndex(DIRECTORIES);
const FILE_INDEX = new NameIndex(FILES);

/** Returns whether `glob`, with at most one `*`, matches one of the names. */
function matchesOne(names: NameIndex): boolean {
  const { length, star } = glob;
  if (length === 0) return false;
  for (const name of names.candidates()) {
    const isLong = star < 0 ? name.length === length : name.length >= length - 1;
    if (!isLong || !matchesUnits(0, star < 0 ? length : star, name, 0)) continue;
    if (star < 0 || matchesUnits(star + 1, length, name, name.length - length)) return true;
  }
  return false;
}

/** Returns whether the units of `glob` match the letters of a name that are `shift` positions farther. */
function matchesUnits(from: number, to: number, name: string, shift: number): boolean {
  for (let index = from; index < to; index++) {
    const code = glob.units[index] ?? 0;
    if (code !== QUESTION && code !== name.charCodeAt(index + shift)) return false;
  }
  return true;
}

/** Returns whether wildcards replace letters, and enough letters remain: `/s*\/g` is a regular expression. */
function isHidden(isDirectory: boolean): boolean {
  const { letters, star, length, hasAny } = glob;
  if (star < 0) return hasAny && letters > 0;
  // `/etc/host*` is an ordinary list of files, but `/et*/` is not.
  return letters > 1 && (hasAny || isDirectory || star < length - 1);
}

/** The work of reading a component of a few units, and of comparing it with all names. */
const STEPS_PER_COMPONENT = 3;
const STEPS_PER_CLASS = 2;
const STEPS_PER_LOOKUP = 6;
const REST_OF_PATH = prefixesStartingWith(charSet(LETTER, "?[/*!^]"));
/** No name matches two stars. Comments of programs start with them. */
const REST_AFTER_STAR = prefixesStartingWith(charSet(LETTER, "?[/!^]"));

/** Matches after a trigger that starts with `/` the rest of a path in which a component is a wildcard form of a known name. */
function matchHiddenPath(input: NormalizedText, at: number): number {
  let start = startOfPath(input, at);
  for (let count = 0; count < MAX_COMPONENTS; count++) {
    const names = count === 0 ? DIRECTORY_INDEX : FILE_INDEX;
    if (!readComponent(input, start, count === 0 ? DIRECTORY_UNITS : COMPONENT_UNITS)) return NO_MATCH;
    const isDirectory = unitAt(input, glob.end) === SLASH;
    // "/us?" may be the end of a question.
    const isQuestion = count === 0 && !isDirectory && !glob.hasClass;
    const isMatch = !isQuestion && isHidden(isDirectory);
    // Before the names are compared: nearly all candidates are comments of programs.
    if (!isMatch && !isDirectory) return NO_MATCH;
    input.work.steps += STEPS_PER_LOOKUP;
    if (!matchesOne(names)) return NO_MATCH;
    if (isMatch) return Math.max(at, glob.end);
    start = glob.end + 1;
  }
  return NO_MATCH;
}
const hiddenPath: Matcher = withPrefixes(REST_OF_PATH, (input, at) => matchHiddenPath(input, at));
const hiddenPathAfterStar: Matcher = withPrefixes(REST_AFTER_STAR, (input, at) => matchHiddenPath(input, at));

/** Returns the start of the first component: a trigger is `/` and at most five units. */
function startOfPath(input: NormalizedText, at: number): number {
  let start = at - 1;
  while (at - start < 6 && unitAt(input, start - 1) !== SLASH) start--;
  return start;
}

/** Forms of every directory with a wildcard in place of one letter. */
function hiddenDirectories(wildcardFor: (letter: string) => string): string[] {
  return DIRECTORIES.flatMap((name) =>
    Array.from(
      name,
      (letter, index) => `/${name.slice(0, index)}${wildcardFor(letter)}${name.slice(index + 1)}/passwd`,
    ),
  );
}

export const SHELL_WILDCARDS: readonly Pattern[] = [
  pattern(
    "shell.wildcard-path",
    WILDCARD_IN_DIRECTORY.filter((trigger) => !trigger.endsWith("*")),
    {
      catches: "a path with wildcards in the name of a directory of the system",
      from: "relaxed",
      finds: [
        "/???/b?sh",
        "/e?c/passwd",
        "/[b]in/ls",
        "/us[r]",
        "/?t*/p?sswd",
        ...hiddenDirectories(() => "?"),
        ...hiddenDirectories((letter) => `[${letter}]`),
      ],
      ignores: ["/blog/[id]/page", "example.com/e?c/x", "Who wants to go to /us?", "/???/notes"],
      precededBy: BEFORE_PATH,
      after: hiddenPath,
    },
  ),
  pattern(
    "shell.wildcard-path",
    WILDCARD_IN_DIRECTORY.filter((trigger) => trigger.endsWith("*")),
    {
      catches: "a path with a star in the name of a directory of the system",
      from: "relaxed",
      finds: ["/et*/*wd", "/*tc/hosts", ...hiddenDirectories(() => "*")],
      ignores: ["split(/b*/g)", "/* eslint */", "/** A comment. */", "example.com/e*c/x"],
      precededBy: BEFORE_PATH,
      after: hiddenPathAfterStar,
    },
  ),
  pattern("shell.wildcard-path", ["/etc/", "/bin/", "/usr/"], {
    catches: "a path with wildcards in the name of a well-known file",
    from: "relaxed",
    finds: ["/etc/pa[s]swd", "/etc/?a?s*", "/bin/ca?", "/usr/b?n/id", "/usr/bin/[u]name"],
    ignores: ["/etc/*.conf", "/usr/*/x", "/etc/host*", "x/etc/p?sswd"],
    precededBy: BEFORE_PATH,
    after: hiddenPath,
  }),
];
