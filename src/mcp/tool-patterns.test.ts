// Patterns of tool names against regular expressions with the same meaning.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../../test/support/long-form.ts";
import { ToolPatterns } from "./tool-patterns.ts";

const text = (...characters: string[]) => fc.string({ unit: fc.constantFrom(...characters), maxLength: 8 });

test("matches the same names as a regular expression", () => {
  fc.assert(
    fc.property(
      fc.array(text("a", "b", "_", "*"), { maxLength: 3 }),
      text("a", "b", "_"),
      (patterns, name) => {
        const expected = patterns.some((pattern) =>
          new RegExp(`^${pattern.replaceAll("*", ".*")}$`).test(name),
        );
        expect(new ToolPatterns(patterns).matches(name)).toBe(expected);
      },
    ),
    { numRuns: runs({ short: 300, long: 20_000 }) },
  );
});

/** All texts of at most four characters. */
const extensions = [""];
for (const each of extensions)
  if (each.length < 4) extensions.push(...["a", "b", "_"].map((character) => each + character));

test("says whether names with a beginning may match, and whether one pattern matches all of them", () => {
  const pattern = fc.string({ unit: fc.constantFrom("a", "b", "_", "*"), maxLength: 4 });
  const start = fc.string({ unit: fc.constantFrom("a", "b", "_"), maxLength: 3 });
  fc.assert(
    fc.property(fc.array(pattern, { maxLength: 3 }), start, (sources, from) => {
      const patterns = sources.map((source) => new ToolPatterns([source]));
      const found = extensions.map((end) => patterns.map((each) => each.matches(from + end)));
      const both = new ToolPatterns(sources);
      expect(both.mayMatch(from)).toBe(found.some((matches) => matches.includes(true)));
      const matchesAll = sources.some((_, at) => found.every((matches) => matches[at] === true));
      expect(both.matchesAllFrom(from)).toBe(matchesAll);
    }),
    { numRuns: runs({ short: 300, long: 5000 }) },
  );
});

test("characters of regular expressions and of object prototypes have no meaning", () => {
  expect(new ToolPatterns(["a.c", "__proto__"]).matches("abc")).toBe(false);
  expect(new ToolPatterns(["a.*"]).matches("a.c")).toBe(true);
  expect(new ToolPatterns([]).matches("constructor")).toBe(false);
});
