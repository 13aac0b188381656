// Tests of rewritten texts: the ranges that changed, and the units and special positions between the changes.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { normalize } from "./normalize.ts";
import { Rewriter } from "./rewriter.ts";
import { CodeUnitBuffer } from "./scratch-buffer.ts";

const REACH = 256;
const buffer = new CodeUnitBuffer();

/** Unchanged units, then a percent sign that is removed or replaced by a slash, in turn. */
const lengths = fc.array(fc.oneof(fc.nat(40), fc.nat(1_200)), { minLength: 1, maxLength: 30 });

test("a text has the changes, and ranges around them that do not overlap", () => {
  fc.assert(
    fc.property(lengths, fc.nat(600), (gaps, last) => {
      const pieces = gaps.map((gap) => "b/".repeat(gap / 2));
      const rest = "c".repeat(last);
      const content = pieces.map((piece) => `${piece}%`).join("") + rest;
      const input = normalize(buffer.read(content), 0, content.length, { steps: 0, limit: Infinity });
      const rewriter = new Rewriter(input, 1);
      const ranges: { start: number; end: number }[] = [];
      let expected = "";
      let at = 0;
      for (const [index, piece] of pieces.entries()) {
        at += piece.length;
        expected += piece;
        const start = Math.max(0, expected.length - REACH);
        const end = expected.length + REACH;
        const before = ranges.at(-1);
        if (before !== undefined && start <= before.end) before.end = end;
        else ranges.push({ start, end });
        if (index % 2 === 0) rewriter.remove(at, at + 1);
        else {
          rewriter.replace("/".charCodeAt(0), at, at + 1);
          expected += "/";
        }
        at++;
      }
      expected += rest;
      const { text, changedRanges } = rewriter.finish();
      expect(Buffer.from(text.codes.slice(0, text.length).buffer).toString("utf16le")).toBe(expected);
      expect(changedRanges).toEqual(ranges.flatMap(({ start, end }) => [start, end]));
      const slashes = Array.from(expected, (unit, index) => (unit === "/" ? index : -1)).filter(
        (index) => index >= 0,
      );
      expect([...text.specials.positions.subarray(0, text.specials.count)]).toEqual(slashes);
    }),
    { numRuns: 300 },
  );
});
