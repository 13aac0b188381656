// Path patterns of rules, and reserved prefixes.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { pathPatternProblem, RESERVED_PREFIXES, reservedPrefixOf } from "./rule-path.ts";
import { anyCharacter } from "../../test/support/characters.ts";

const segment = fc.stringMatching(/^[a-z0-9_~.-]{1,10}$/).filter((text) => text !== "." && text !== "..");

describe("pathPatternProblem", () => {
  test("accepts exact paths, parameters, and prefixes", () => {
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1, maxLength: 6 }), fc.nat({ max: 3 }), (segments, form) => {
        const exact = `/x${segments.join("/")}`;
        const pattern = [exact, `${exact}/`, `${exact}/*`, `${exact}/{parameter}/end`][form]!;
        expect(pathPatternProblem(pattern)).toBeNull();
      }),
    );
  });

  test.each([
    ["", 'start with "/"'],
    ["v1", 'start with "/"'],
    ["/a b", "URL path"],
    ["/a?b", "URL path"],
    ["/a#b", "URL path"],
    ["/ä", "URL path"],
    ["/a\\b", "URL path"],
    ["/a%", "hex digits"],
    ["/a%2g", "hex digits"],
    ["/a//b", '"//"'],
    ["//", '"//"'],
    ["/a/../b", '".."'],
    ["/a/.", '"."'],
    ["/*/b", '"*"'],
    ["/a*", '"*"'],
    ["/**", '"*"'],
    ["/{}", "whole segment"],
    ["/{a", "whole segment"],
    ["/a}", "whole segment"],
    ["/x{a}", "whole segment"],
    ["/{a-b}", "whole segment"],
    ["/{a}/{a}", "given twice"],
    ["/api/v1", "reserved segment /api"],
  ])("rejects %p: %s", (pattern, reason) => expect(pathPatternProblem(pattern)).toContain(reason));

  test("returns a message or null for any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        const problem = pathPatternProblem(text);
        if (problem !== null) expect(problem).toMatch(/\S/);
        else expect(text).toMatch(/^\/[\x21-\x7e]*$/);
      }),
    );
  });
});

describe("reservedPrefixOf", () => {
  test("matches a reserved prefix and all paths below it", () => {
    fc.assert(
      fc.property(fc.constantFrom(...RESERVED_PREFIXES), fc.array(segment), (prefix, below) => {
        expect(reservedPrefixOf([prefix, ...below].join("/"))).toBe(prefix);
        expect(pathPatternProblem(`${prefix}/*`)).toContain(prefix);
      }),
    );
  });

  test("matches whole segments at the start only", () => {
    fc.assert(
      fc.property(fc.constantFrom(...RESERVED_PREFIXES), segment, (prefix, more) => {
        expect(reservedPrefixOf(prefix + more)).toBeNull();
        expect(reservedPrefixOf(`/v1${prefix}`)).toBeNull();
        expect(pathPatternProblem(`/v1${prefix}`)).toBeNull();
      }),
    );
  });
});
