// Units of random strings: `fc.string({ unit: anyCharacter })`. Use them instead of "binary" and "grapheme" of fast-check, which put all
// 1.1 million characters into a map when a test file creates its first string: a second of CPU time and 200 MB.
import fc from "fast-check";

type Range = readonly [first: number, last: number];

/** One of the characters of the ranges, each equally likely. fast-check also asks for the position of a character, to shrink it. */
function characterOf(ranges: readonly Range[]): fc.Arbitrary<string> {
  const count = ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  const characterAt = (position: number): string => {
    let left = position;
    for (const [first, last] of ranges) {
      if (left <= last - first) return String.fromCodePoint(first + left);
      left -= last - first + 1;
    }
    throw new Error(`position ${position} of ${count} characters`);
  };
  const positionOf = (text: unknown): number => {
    const code = typeof text === "string" ? (text.codePointAt(0) ?? -1) : -1;
    if (code < 0 || text !== String.fromCodePoint(code)) throw new Error("not one character");
    let before = 0;
    for (const [first, last] of ranges) {
      if (code >= first && code <= last) return before + code - first;
      before += last - first + 1;
    }
    throw new Error("not a character of the ranges");
  };
  return fc.nat({ max: count - 1 }).map(characterAt, positionOf);
}

/** Any code point that UTF-8 can encode, control characters and unassigned ones included. */
export const anyCharacter = characterOf([
  [0, 0xd7ff],
  [0xe000, 0x10ffff],
]);

/** Has one to four bytes in UTF-8 and is visible on its own. */
const visibleCharacter = characterOf([
  [0x20, 0x7e],
  [0xa1, 0xac],
  [0xae, 0x17f],
  [0x391, 0x3a1],
  [0x400, 0x45f],
  [0x5d0, 0x5ea],
  [0x620, 0x64a],
  [0x905, 0x939],
  [0x4e00, 0x4fff],
  [0xac00, 0xadff],
  [0xff01, 0xff5e],
  [0x1_f300, 0x1_f5ff],
  [0x2_0000, 0x2_00ff],
]);

/** Several code points that readers see as one character: decomposed letters, a keycap, a flag, a family. */
const sequence = fc.constantFrom(
  "e\u0301",
  "\u304b\u3099",
  "\u1100\u1161\u11a8",
  "1\ufe0f\u20e3",
  "🇩🇪",
  "👩‍👧",
);

/** What readers see as one character. There are no control characters. */
export const grapheme = fc.oneof(
  { weight: 9, arbitrary: visibleCharacter },
  { weight: 1, arbitrary: sequence },
);
