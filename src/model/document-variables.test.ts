// References to environment variables: replaced, defaulted, escaped, and rejected.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { applyDefaults, escapeReferences, resolveVariables } from "./document-variables.ts";

const resolve = (text: unknown, environment: Record<string, string> = {}) => {
  const { document, unset, problems } = resolveVariables({ at: text }, environment);
  return { text: (document as { at: unknown }).at, unset, problems };
};
const withDefaults = (text: unknown) => {
  const { document, problems } = applyDefaults({ at: text });
  return { text: (document as { at: unknown }).at, problems };
};

describe("resolveVariables", () => {
  test("replaces several references in one text, and leaves other values unchanged", () => {
    expect(resolve("a ${X}-${Y_2:-no}!", { X: "1", Y_2: "2" }).text).toBe("a 1-2!");
    expect(resolve([{ deep: "${X}" }, 7, null, true], { X: "1" }).text).toEqual([
      { deep: "1" },
      7,
      null,
      true,
    ]);
  });

  test("uses the default of an unset or empty variable, and reports the variable", () => {
    for (const environment of [{}, { X: "" }] as Record<string, string>[]) {
      expect(resolve("${X:-a:-b c}", environment)).toEqual({
        text: "a:-b c",
        unset: [{ path: "at", name: "X", hasDefault: true }],
        problems: [],
      });
      expect(resolve("${X:-}", environment).text).toBe("");
      expect(resolve("${X}", environment).unset).toEqual([{ path: "at", name: "X", hasDefault: false }]);
    }
  });

  test.each(["${", "${X", "${}", "${1X}", "${X-Y}", "${X:Y}", "${X:-${Y}}", "${X Y}"])(
    "%s is not a valid reference",
    (text) => {
      const { problems } = resolve(text, { X: "1", Y: "2" });
      expect(problems).toHaveLength(1);
      expect(problems[0]?.path).toBe("at");
      expect(problems[0]?.message).toContain("$${");
    },
  );

  test.each(["$", "$$", "{X}", "$X", "$ {X}", "price: 5$"])("%s is plain text", (text) => {
    expect(resolve(text)).toEqual({ text, unset: [], problems: [] });
    expect(withDefaults(text)).toEqual({ text, problems: [] });
  });

  test("the value of a variable is never treated as a reference", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("$", "{", "}", ":", "-", "X", "Y") }), (value) => {
        fc.pre(value !== "");
        const { text, problems } = resolve("<${V}>${D}${V}", { V: value, D: "$", X: "x", Y: "y" });
        expect(problems).toEqual([]);
        expect(withDefaults(text)).toEqual({ text: `<${value}>$${value}`, problems: [] });
      }),
    );
  });
});

describe("applyDefaults", () => {
  test("uses defaults, and rejects references without one", () => {
    expect(withDefaults("${X:-d}")).toEqual({ text: "d", problems: [] });
    const { problems } = withDefaults("Bearer ${X}");
    expect(problems).toHaveLength(1);
    expect(problems[0]?.message).toContain("${X}");
  });

  test("restores any escaped text", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("$", "{", "}", ":", "-", "a", "b") }), (text) => {
        expect(withDefaults(escapeReferences(text))).toEqual({ text, problems: [] });
        const { text: resolved, unset, problems } = resolve(escapeReferences(text));
        expect({ resolved, unset, problems }).toEqual({
          resolved: escapeReferences(text),
          unset: [],
          problems: [],
        });
      }),
      { numRuns: 500 },
    );
  });
});
