// Path patterns of rules: what is one, what is none, and that reserved prefixes are whole segments.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { pathPatternProblem, RESERVED_PREFIXES, reservedPrefixOf } from "./rule-path.ts";

const segment = fc.stringMatching(/^[a-z0-9_~.-]{1,10}$/).filter((text) => text !== "." && text !== "..");

describe("pathPatternFault", () => {
  test("exact paths, parameters and prefixes are patterns", () => {
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
    ["/api/v1", "reserved prefix /api"],
  ])("%p is refused: %s", (pattern, reason) => expect(pathPatternProblem(pattern)).toContain(reason));

  test("whatever is given, the verdict is a sentence or null", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const error = pathPatternProblem(text);
        if (error !== null) expect(error).toMatch(/\S/);
        else expect(text).toMatch(/^\/[\x21-\x7e]*$/);
      }),
    );
  });
});

describe("reservedPrefixOf", () => {
  test("a reserved prefix, itself and everything below it", () => {
    fc.assert(
      fc.property(fc.constantFrom(...RESERVED_PREFIXES), fc.array(segment), (prefix, below) => {
        expect(reservedPrefixOf([prefix, ...below].join("/"))).toBe(prefix);
        expect(pathPatternProblem(`${prefix}/*`)).toContain(prefix);
      }),
    );
  });

  test("only as whole segments, and only at the start", () => {
    fc.assert(
      fc.property(fc.constantFrom(...RESERVED_PREFIXES), segment, (prefix, more) => {
        expect(reservedPrefixOf(prefix + more)).toBeNull();
        expect(reservedPrefixOf(`/v1${prefix}`)).toBeNull();
        expect(pathPatternProblem(`/v1${prefix}`)).toBeNull();
      }),
    );
  });
});
