// Finds the special characters of a text that may start an escape, a comment or syntax without effect. Most of them, such as the quotes
// around a string, do not, and the units around them show it.
import { HEX, LETTER, WHITESPACE, WORD } from "./char-classes.ts";
import { CHAR_SET_SIZE, charSet, charSetHas, NON_ASCII, type CharSet } from "./char-set.ts";
import type { NormalizedText } from "./normalized-text.ts";
import { checkWork } from "./work-budget.ts";

/** Syntax may start at a special character that satisfies a rule. A unit without a condition may be any. */
interface Rule {
  readonly characters: string;
  /** The unit before the character, and the unit after it. */
  readonly before?: CharSet;
  readonly next?: CharSet;
  /** The special character before this one, at most MAX_DISTANCE from it, and the unit before that. */
  readonly preceding?: CharSet;
  readonly beforePreceding?: CharSet;
  /** The special character after this one, at most MAX_DISTANCE from it, and the unit after that. */
  readonly following?: CharSet;
  readonly afterFollowing?: CharSet;
}

/** The distance of quotes around six letters: fewer are removed from within words. */
const MAX_DISTANCE = 7;
const WORD_UNITS = charSet(WORD);
const LETTERS = charSet(LETTER);
const LETTERS_AND_SLASH = charSet(LETTER, "/");
const SLASHES = charSet(0, "/");
const QUOTES = "'\"`";

const ESCAPES: readonly Rule[] = [
  { characters: "%", next: charSet(HEX, "uU") },
  { characters: "&", next: charSet(WORD, "#") },
  { characters: "\\" },
];
const COMMENTS: readonly Rule[] = [
  { characters: "/", next: charSet(0, "*") },
  { characters: "*", next: SLASHES },
];
const NO_OPS: readonly Rule[] = [
  { characters: "<", next: charSet(0, "!(") },
  { characters: ">", next: charSet(0, "(") },
  { characters: "$", before: WORD_UNITS, next: charSet(LETTER, "@*!?$(") },
  { characters: "^", before: LETTERS, next: LETTERS },
  // Between two of the same quotes may be slashes, which are special characters as well.
  { characters: QUOTES, next: LETTERS_AND_SLASH, following: SLASHES },
  { characters: QUOTES, before: LETTERS_AND_SLASH, preceding: SLASHES },
  ...Array.from(QUOTES).flatMap(rulesOfQuote),
];

function rulesOfQuote(characters: string): Rule[] {
  const same = charSet(0, characters);
  return [
    // Empty quotes in a word, and the boundary between concatenated strings.
    { characters, before: WORD_UNITS, next: charSet(WHITESPACE, `.+${characters}`), following: same },
    // Quotes around part of a word.
    { characters, before: LETTERS_AND_SLASH, next: LETTERS_AND_SLASH, following: same },
    { characters, next: LETTERS_AND_SLASH, following: same, afterFollowing: LETTERS },
    { characters, before: LETTERS_AND_SLASH, next: LETTERS, preceding: same },
    { characters, before: LETTERS_AND_SLASH, preceding: same, beforePreceding: LETTERS_AND_SLASH },
  ];
}

const RULES = [...ESCAPES, ...COMMENTS, ...NO_OPS];
const ESCAPE_BITS = (1 << ESCAPES.length) - 1;
const COMMENT_BITS = ((1 << COMMENTS.length) - 1) << ESCAPES.length;

/** Returns by unit a bit for each rule whose condition it satisfies; all non-ASCII units share the last index. */
function tableOf(conditionOf: (rule: Rule) => CharSet | undefined): Int32Array {
  const table = new Int32Array(CHAR_SET_SIZE);
  for (const [bit, rule] of RULES.entries()) {
    const condition = conditionOf(rule);
    for (let code = 0; code < CHAR_SET_SIZE; code++)
      if (condition === undefined || charSetHas(condition, code))
        table[code] = (table[code] ?? 0) | (1 << bit);
  }
  return table;
}

const CHARACTERS = tableOf((rule) => charSet(0, rule.characters));
const BEFORE = tableOf((rule) => rule.before);
const NEXT = tableOf((rule) => rule.next);
const PRECEDING = tableOf((rule) => rule.preceding);
const BEFORE_PRECEDING = tableOf((rule) => rule.beforePreceding);
const FOLLOWING = tableOf((rule) => rule.following);
const AFTER_FOLLOWING = tableOf((rule) => rule.afterFollowing);

/** Positions in ascending order. The next search overwrites them. */
export interface SyntaxCandidates {
  readonly positions: Int32Array;
  readonly count: number;
  readonly hasEscapes: boolean;
  readonly hasComments: boolean;
}

/** A larger list is not kept. */
const MAX_KEPT_POSITIONS = 1 << 16;
let kept = new Int32Array(1 << 10);

function listFor(positions: number): Int32Array {
  if (positions <= kept.length) return kept;
  if (positions > MAX_KEPT_POSITIONS) return new Int32Array(positions);
  return (kept = new Int32Array(MAX_KEPT_POSITIONS));
}

/**
 * Returns the special characters that satisfy a rule. The loop has no branches, because a processor could not predict them: 5 ns per special
 * character. Trying each one took 40 to 80.
 */
export function findSyntax({ codes, specials, length, work }: NormalizedText): SyntaxCandidates {
  const { positions, count } = specials;
  // A step for each. Ordinary text takes less time, but in a text of few repeated characters nothing else takes more.
  work.steps += count;
  checkWork(work);
  const list = listFor(count);
  let listed = 0;
  let satisfied = 0;
  let position = positions[0] ?? 0;
  let code = codes[position] ?? 0;
  let before = position > 0 ? indexOf(codes[position - 1] ?? 0) : 0;
  let next = indexOf(codes[position + 1] ?? 0);
  let preceding = 0;
  let beforePreceding = 0;
  for (let special = 1; special <= count; special++) {
    // After the last one, the zero at the end of the text.
    const followingPosition = special < count ? (positions[special] ?? 0) : length;
    const followingCode = codes[followingPosition] ?? 0;
    const beforeFollowing = indexOf(codes[followingPosition - 1] ?? 0);
    const afterFollowing = indexOf(codes[followingPosition + 1] ?? 0);
    // All bits are set if the distance is not larger, otherwise none.
    const isNear = (followingPosition - position - MAX_DISTANCE - 1) >> 31;
    const rules =
      (CHARACTERS[code] ?? 0) &
      (BEFORE[before] ?? 0) &
      (NEXT[next] ?? 0) &
      (PRECEDING[preceding] ?? 0) &
      (BEFORE_PRECEDING[beforePreceding] ?? 0) &
      (FOLLOWING[followingCode & isNear] ?? 0) &
      (AFTER_FOLLOWING[afterFollowing] ?? 0);
    list[listed] = position;
    // One more if any bit is set.
    listed += (rules | -rules) >>> 31;
    satisfied |= rules;
    preceding = code & isNear;
    beforePreceding = before;
    position = followingPosition;
    code = followingCode;
    before = beforeFollowing;
    next = afterFollowing;
  }
  return {
    positions: list,
    count: listed,
    hasEscapes: (satisfied & ESCAPE_BITS) !== 0,
    hasComments: (satisfied & COMMENT_BITS) !== 0,
  };
}

function indexOf(code: number): number {
  return code < NON_ASCII ? code : NON_ASCII;
}
