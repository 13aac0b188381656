// The console matches patterns of tool names exactly as the data plane does.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { matchesAny } from "../../console/state/tool-access.ts";
import { ToolPatterns } from "../../src/mcp/tool-patterns.ts";
import { runs } from "../support/long-form.ts";

const pattern = fc.string({ unit: fc.constantFrom("a", "b", "_", "*"), minLength: 1, maxLength: 8 });
const name = fc.string({ unit: fc.constantFrom("a", "b", "_"), maxLength: 10 });

test("any patterns and names", () => {
  let matched = 0;
  fc.assert(
    fc.property(fc.array(pattern, { maxLength: 3 }), name, (patterns, text) => {
      const expected = new ToolPatterns(patterns).matches(text);
      if (expected) matched++;
      expect(matchesAny(patterns, text)).toBe(expected);
    }),
    { numRuns: runs({ short: 2000, long: 100_000 }) },
  );
  expect(matched).toBeGreaterThan(100);
});
