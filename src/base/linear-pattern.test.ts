// Patterns in linear time: the matches of JavaScript's engine where both agree on what to prefer, errors, and hostile texts.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../../test/support/long-form.ts";
import { LinearPattern } from "./linear-pattern.ts";

function found(pattern: string, text: string): string[] {
  return new LinearPattern(pattern).matches(text).map(({ start, end }) => text.slice(start, end));
}

/** The longest match at each position, leftmost first, tried with JavaScript's engine. */
function naive(pattern: string, text: string): string[] {
  const matches: string[] = [];
  const whole = new RegExp(`^(?:${pattern})$`);
  for (let start = 0; start < text.length; start++)
    for (let end = text.length; end > start; end--)
      if (whole.test(text.slice(start, end))) {
        matches.push(text.slice(start, end));
        start = end - 1;
        break;
      }
  return matches;
}

test("the longest matches are found, leftmost first", () => {
  const atom = fc.constantFrom("a", "b", "[ab]", "[^a]", ".", "c", "\\d", "\\w", "(?:ab)", "1");
  const count = fc.constantFrom("", "?", "*", "+", "{2}", "{1,2}", "{2,}");
  const sequence = fc
    .array(
      fc.tuple(atom, count).map((parts) => parts.join("")),
      { minLength: 1, maxLength: 4 },
    )
    .map((parts) => parts.join(""));
  const pattern = fc.oneof(
    sequence,
    fc.tuple(sequence, sequence).map(([a, b]) => `${a}|(${b})c`),
  );
  const text = fc.string({ unit: fc.constantFrom("a", "b", "c", "1", " ", "\n", "é"), maxLength: 14 });
  fc.assert(
    fc.property(pattern, text, (source, given) => {
      if (new RegExp(`^(?:${source})$`).test("")) expect(() => new LinearPattern(source)).toThrow("empty");
      else expect(found(source, given)).toEqual(naive(source, given));
    }),
    { numRuns: runs({ short: 300, long: 50_000 }) },
  );
});

test("boundaries of words, escapes and ranges", () => {
  expect(found("\\bEMP-\\d{6}\\b", "EMP-123456, xEMP-123456 EMP-1234567 (EMP-000001)")).toEqual([
    "EMP-123456",
    "EMP-000001",
  ]);
  expect(found("[a-c\\-\\]]+", "a-]d")).toEqual(["a-]"]);
  expect(found("\\u00e9\\.", "é.")).toEqual(["é."]);
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
  for (const [pattern, text, matches] of cases) expect(found(pattern, text)).toEqual(matches);
});

test("a pattern that is not supported is an error that says why", () => {
  const cases: [string, string][] = [
    ["(", "closing parenthesis"],
    [")", "opening parenthesis"],
    ["[a", '"]" is missing'],
    ["a**", "must not follow"],
    ["a*?", "must not follow"],
    ["(?=a)b", "look-around"],
    ["a\\bb", "\\b is supported"],
    ["\\1", "not supported"],
    ["^a", "not supported"],
    ["a{101}", "at most 100"],
    ["((a{100}){100}){100}", "too large"],
    ["x".repeat(501), "longer than 500"],
    ["a?", "empty text"],
  ];
  for (const [pattern, message] of cases) expect(() => new LinearPattern(pattern)).toThrow(message);
});

test("patterns that take exponential time with backtracking", () => {
  const text = `${"a".repeat(20_000)}!`;
  for (const pattern of ["(a+)+b", "(a|a)*b", "(a|aa)+b", "a*a*a*a*b", "(.*)*x"])
    expect(found(pattern, text)).toEqual([]);
  expect(found("(a+)+", text).every((match) => match.length <= 256)).toBe(true);
  // More states than are kept.
  expect(found("[ab]{20}c", `${"ab".repeat(3000)}c`)).toHaveLength(1);
  expect(found("a[ab]{14}c", `${"abba".repeat(3000)}abbabbabbabbabbc`)).toHaveLength(1);
});
