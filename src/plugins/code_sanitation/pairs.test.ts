// Pairs of forms and queries: those of a naive split.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { pairsIn } from "./pairs.ts";

function naivePairs(text: string): string[] {
  return text.split("&").flatMap((pair) => (pair.includes(";") ? [pair, ...pair.split(";")] : [pair]));
}

test("are those of a split at & and, in them, at ;", () => {
  const piece = fc.constantFrom("&", ";", "=", "a", "&amp;", "b=c");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.nat({ max: 3 }), (pieces, start) => {
      const text = `${"&".repeat(start)}${pieces.join("")}`;
      const pairs = [...pairsIn(text, start)];
      expect(pairs.map((pair) => text.slice(pair.start, pair.end))).toEqual(naivePairs(text.slice(start)));
      for (const { start: from, end, equals } of pairs) {
        const at = text.slice(from, end).indexOf("=");
        expect(equals).toBe(at < 0 ? -1 : from + at);
      }
    }),
    { numRuns: 500 },
  );
});

test("take linear work", () => {
  for (const character of ["&", ";", "=", "&;"]) {
    let pairs = 0;
    for (const { end } of pairsIn(character.repeat(500_000), 0)) pairs += end >= 0 ? 1 : 0;
    expect(pairs).toBeGreaterThan(0);
  }
});
