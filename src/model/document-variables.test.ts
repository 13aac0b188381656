// References to the environment: put in, left to their defaults, escaped, and refused with a sentence.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { escapeReferences, resolveVariables, settleReferences } from "./document-variables.ts";

const resolve = (text: unknown, environment: Record<string, string> = {}) => {
  const { document, unset, faults } = resolveVariables({ at: text }, environment);
  return { text: (document as { at: unknown }).at, unset, faults };
};
const settle = (text: unknown) => {
  const { document, faults } = settleReferences({ at: text });
  return { text: (document as { at: unknown }).at, faults };
};

describe("resolveVariables", () => {
  test("puts variables in, several in one text, and only into texts", () => {
    expect(resolve("a ${X}-${Y_2:-no}!", { X: "1", Y_2: "2" }).text).toBe("a 1-2!");
    expect(resolve([{ deep: "${X}" }, 7, null, true], { X: "1" }).text).toEqual([
      { deep: "1" },
      7,
      null,
      true,
    ]);
  });

  test("a variable that is unset or empty leaves the default; without one it is named", () => {
    for (const environment of [{}, { X: "" }] as Record<string, string>[]) {
      expect(resolve("${X:-a:-b c}", environment)).toEqual({
        text: "a:-b c",
        unset: [{ path: "at", name: "X", hasDefault: true }],
        faults: [],
      });
      expect(resolve("${X:-}", environment).text).toBe("");
      expect(resolve("${X}", environment).unset).toEqual([{ path: "at", name: "X", hasDefault: false }]);
    }
  });

  test.each(["${", "${X", "${}", "${1X}", "${X-Y}", "${X:Y}", "${X:-${Y}}", "${X Y}"])(
    "%s is no reference",
    (text) => {
      const { faults } = resolve(text, { X: "1", Y: "2" });
      expect(faults).toHaveLength(1);
      expect(faults[0]?.path).toBe("at");
      expect(faults[0]?.message).toContain("$${");
    },
  );

  test.each(["$", "$$", "{X}", "$X", "$ {X}", "price: 5$"])("%s is just text", (text) => {
    expect(resolve(text)).toEqual({ text, unset: [], faults: [] });
    expect(settle(text)).toEqual({ text, faults: [] });
  });

  test("what a variable holds is never read as a reference again", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("$", "{", "}", ":", "-", "X", "Y") }), (value) => {
        fc.pre(value !== "");
        const { text, faults } = resolve("<${V}>${D}${V}", { V: value, D: "$", X: "x", Y: "y" });
        expect(faults).toEqual([]);
        expect(settle(text)).toEqual({ text: `<${value}>$${value}`, faults: [] });
      }),
    );
  });
});

describe("settleReferences", () => {
  test("takes defaults, and refuses what only an environment could tell", () => {
    expect(settle("${X:-d}")).toEqual({ text: "d", faults: [] });
    const { faults } = settle("Bearer ${X}");
    expect(faults).toHaveLength(1);
    expect(faults[0]?.message).toContain("${X}");
  });

  test("any text that was escaped comes back as it was", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("$", "{", "}", ":", "-", "a", "b") }), (text) => {
        expect(settle(escapeReferences(text))).toEqual({ text, faults: [] });
        const { text: resolved, unset, faults } = resolve(escapeReferences(text));
        expect({ resolved, unset, faults }).toEqual({
          resolved: escapeReferences(text),
          unset: [],
          faults: [],
        });
      }),
      { numRuns: 500 },
    );
  });
});
