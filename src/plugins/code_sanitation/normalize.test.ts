// Normalization against an implementation that looks at each run of whitespace and invisible characters by itself.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { normalize } from "./normalize.ts";
import { originalSpan } from "./normalized-text.ts";

interface Unit {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const WHITESPACE_OR_INVISIBLE = /[ \t\n\r\u3000\u200b]/;

function expectedUnits(text: string): Unit[] {
  const units: Unit[] = [];
  for (let start = 0; start < text.length;) {
    let end = start;
    while (end < text.length && WHITESPACE_OR_INVISIBLE.test(text.charAt(end))) end++;
    const run = text.slice(start, end);
    if (end === start) units.push({ text: text.charAt(start), start, end: (end = start + 1) });
    else if (/[\n\r]/.test(run)) units.push({ text: "\n", start, end });
    else if (/[ \t\u3000]/.test(run)) units.push({ text: " ", start, end });
    start = end;
  }
  return units;
}

function normalizedUnits(text: string): Unit[] {
  const codes = Uint16Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
  const normalized = normalize(codes, 0, codes.length, { steps: 0, limit: Infinity });
  return Array.from({ length: normalized.length }, (_, index) => ({
    text: String.fromCharCode(normalized.codes[index] ?? 0),
    ...originalSpan(normalized, index, index + 1),
  }));
}

/** Units that are copied in one block. */
const BLOCK_UNITS = 4096;

test("merges runs of whitespace, and keeps where each unit comes from", () => {
  const piece = fc.constantFrom("a", "'", " ", "\t", "\n", "\r", "\u3000", "\u200b");
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 24 }).map((pieces) => pieces.join("")),
      fc.nat().map((position) => position % 24),
      fc.boolean(),
      (text, position, isAtBlockEnd) => {
        const before = isAtBlockEnd ? "b".repeat(BLOCK_UNITS - position) : "";
        expect(normalizedUnits(before + text).slice(before.length)).toEqual(
          expectedUnits(before + text).slice(before.length),
        );
      },
    ),
    { numRuns: 400 },
  );
});
