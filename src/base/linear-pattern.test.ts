// Patterns in linear time: the matches of the runtime's RegExp with the flag `u`, errors, and hostile texts.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../../test/support/long-form.ts";
import { LinearPattern } from "./linear-pattern.ts";

function found(pattern: string, text: string): string[] {
  return new LinearPattern(pattern).matches(text).map(({ start, end }) => text.slice(start, end));
}

function expectAsRegExp(source: string, text: string): void {
  const oracle = new RegExp(source, "gu");
  const expected = [...text.matchAll(oracle)].map((match) => [match.index, match.index + match[0].length]);
  const pattern = new LinearPattern(source);
  expect(pattern.matches(text).map(({ start, end }) => [start, end])).toEqual(expected);
  expect(pattern.test(text)).toBe(expected.length > 0);
}

const LITERALS = [
  "a",
  "b",
  "A",
  "s",
  "S",
  "ſ",
  "k",
  "K",
  "\u212a",
  "é",
  "É",
  "ß",
  "ẞ",
  "σ",
  "ς",
  "Σ",
  "😀",
  "𐐀",
  "𐐨",
  "_",
  "1",
];
const CLASSES = [
  ".",
  "\\d",
  "\\D",
  "\\w",
  "\\W",
  "\\s",
  "\\S",
  "[ab]",
  "[^a]",
  "[^\\W]",
  "[^\\w]",
  "[a-k]",
  "[^s]",
  "[\\w\\-\\b]",
  "[\\u{1F600}-\\u{1F64F}]",
  "[𐐀-𐐏]",
  "\\p{Lu}",
  "\\P{Lu}",
  "[^\\P{Lu}]",
  "\\p{Script=Greek}",
  "[]",
  "[^]",
  "\\ud83d",
  "\\ude00",
  "\\ud83d\\ude00",
  "\\x41",
  "\\u0053",
  "\\cJ",
  "[\\0]",
  "\\n",
  "\\u2028",
];
const ASSERTIONS = ["^", "$", "\\b", "\\B"];
const COUNTS = ["", "", "", "?", "*", "+", "{2}", "{0}", "{1,2}", "{2,}", "{0,2}"];
const MODIFIERS = ["", "?:", "?i:", "?s:", "?m:", "?-i:", "?im-s:", "?s-im:"];

const pattern = fc.letrec<{ atom: string; term: string; sequence: string; choice: string }>((tie) => ({
  atom: fc.oneof(
    { maxDepth: 3, depthIdentifier: "group" },
    { arbitrary: fc.constantFrom(...LITERALS), weight: 3 },
    { arbitrary: fc.constantFrom(...CLASSES), weight: 3 },
    {
      arbitrary: fc.tuple(fc.constantFrom(...MODIFIERS), tie("choice")).map(([m, inner]) => `(${m}${inner})`),
      weight: 4,
    },
  ),
  term: fc.oneof(
    {
      arbitrary: fc
        .tuple(tie("atom"), fc.constantFrom(...COUNTS), fc.constantFrom("", "", "?"))
        .map(([atom, count, lazy]) => (count === "" ? atom : `${atom}${count}${lazy}`)),
      weight: 5,
    },
    { arbitrary: fc.constantFrom(...ASSERTIONS), weight: 2 },
  ),
  sequence: fc.array(tie("term"), { maxLength: 4 }).map((terms) => terms.join("")),
  choice: fc.array(tie("sequence"), { minLength: 1, maxLength: 3 }).map((options) => options.join("|")),
})).choice;
const text = fc.string({
  unit: fc.constantFrom(
    ...LITERALS,
    " ",
    "\n",
    "\r",
    "\u2028",
    "\ufeff",
    "\ud83d",
    "\ude00",
    "-",
    "\0",
    "\b",
  ),
  maxLength: 12,
});

describe("ECMA-262 with the flag u", () => {
  test("matches are those of RegExp", () => {
    fc.assert(
      fc.property(pattern, text, (source, given) => {
        fc.pre(source.length <= 120);
        expectAsRegExp(source, given);
      }),
      { numRuns: runs({ short: 150, long: 10_000 }) },
    );
  });

  test("each character belongs to a class as it does for RegExp, with and without case", () => {
    const characters = Array.from({ length: 0x600 }, (_, codePoint) => String.fromCodePoint(codePoint));
    const others = ["\u1680", "\u1e9e", "\u1fd3", "\u2000", "\u200b", "\u2028", "\u212a", "\u212b", "\u3000"];
    const all = [
      ...characters,
      ...others,
      "\ufb05",
      "\ufb06",
      "\ufeff",
      "\u{10400}",
      "\u{10428}",
      "\u{1e943}",
    ];
    for (const source of [...LITERALS, ...CLASSES, "[^ab]", "[a-zß]", "\\p{L}", "\\p{ASCII}"])
      for (const flagged of [source, `(?i:${source})`]) {
        const ours = new LinearPattern(flagged);
        const oracle = new RegExp(flagged, "u");
        expect({ flagged, is: all.filter((character) => ours.test(character)) }).toEqual({
          flagged,
          is: all.filter((character) => oracle.test(character)),
        });
      }
  });

  test.each([
    ["^a|b$", "xb", ["b"]],
    ["^a|b$", "bx", []],
    ["^rm|sudo$", "rm -rf /", ["rm"]],
    ["a|ab", "ab", ["a"]],
    ["a+?", "aa", ["a", "a"]],
    ["(|a)+", "aa", ["", "a", ""]],
    ["a\\bb|b\\B", "ab bb", ["b"]],
    ["(?i:k)(?-i:K)", "kK KK", ["kK", "KK"]],
    ["(?m:^b$)", "a\nb\nc", ["b"]],
    ["\\bEMP-\\d{6}\\b", "EMP-123456, xEMP-123456 EMP-1234567 (EMP-000001)", ["EMP-123456", "EMP-000001"]],
    ["[a-c\\-\\]]+", "a-]d", ["a-]"]],
    ["\\u00e9\\.", "é.", ["é."]],
  ])("%s", (source, given, expected) => {
    expectAsRegExp(source, given);
    if (source !== "(|a)+") expect(found(source, given)).toEqual(expected);
  });
});

test("a text that every match contains may be interrupted, optional or one of several", () => {
  const cases: [string, string, string[]][] = [
    ["ab\\d+cde", "ab12cde", ["ab12cde"]],
    ["a\\d?b", "a1b", ["a1b"]],
    ["ab?cd", "acd", ["acd"]],
    ["abc|de", "de abc", ["de", "abc"]],
    ["(abc)?de", "de", ["de"]],
    ["[Aa]bc", "Abc", ["Abc"]],
    ["a{2}b", "aab", ["aab"]],
  ];
  for (const [source, given, matches] of cases) expect(found(source, given)).toEqual(matches);
});

test("a pattern that is not supported is an error that says why", () => {
  const cases: [string, string][] = [
    ["(", "closing parenthesis"],
    [")", "opening parenthesis"],
    ["[a", '"]" is missing'],
    ["[b-a]", "range of characters is invalid"],
    ["[\\d-x]", "range of characters is invalid"],
    ["a**", "must not follow"],
    ["^*", "cannot be repeated"],
    ["(?=a)b", "look-around"],
    ["(?<!a)b", "look-around"],
    ["(?<n>a)", "named groups"],
    ["(?i)a", 'write "(?i:…)"'],
    ["(?ii:a)", "Invalid regular expression"],
    ["(?-:a)", "Invalid regular expression"],
    ["\\1", "not supported"],
    ["\\k<n>", "not supported"],
    ["\\-", "not supported"],
    ["\\07", "octal"],
    ["a]", 'write "\\]"'],
    ["a{,2}", '"{" must begin a repetition'],
    ["\\p{Nonsense}", "Invalid regular expression"],
    ["\\p{RGI_Emoji}", "Invalid regular expression"],
    ["\\u{110000}", "Invalid regular expression"],
    ["a{101}", "at most 100"],
    ["((a{100}){100}){100}", "too large"],
    ["x".repeat(501), "longer than 500"],
  ];
  for (const [source, message] of cases) expect(() => new LinearPattern(source)).toThrow(message);
});

test("patterns that take exponential or quadratic time with backtracking", () => {
  const given = `${"a".repeat(20_000)}!`;
  for (const source of ["(a+)+b", "(a|a)*b", "(a|aa)+b", "a*a*a*a*b", "(.*)*x", "a(?:.*b)?c"])
    expect(found(source, given)).toEqual([]);
  expect(found("(a+)+", given)).toEqual(["a".repeat(20_000)]);
  expect(found("a(?:.*b)?", given)).toHaveLength(20_000);
  // More sets than are kept.
  expect(found("[ab]{20}c", `${"ab".repeat(3000)}c`)).toHaveLength(1);
  expect(found("a[ab]{14}c", `${"abba".repeat(3000)}abbabbabbabbabbc`)).toHaveLength(1);
});

test("matches that cross the parts in which a text is read", () => {
  for (const filling of ["x".repeat(4090), "😀".repeat(2045), `x${"😀".repeat(4100)}`])
    for (const source of [
      "^.*",
      "^(?:x|😀)+?a",
      "(?:x|😀)*?abc",
      "abc.*",
      "^.{3}",
      "c$",
      "😀\\b|\\babc\\b",
      "(?:😀|x)+",
      "$",
    ])
      expectAsRegExp(source, `${filling}abc${filling}abc`);
});
