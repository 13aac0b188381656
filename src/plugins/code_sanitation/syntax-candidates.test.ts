// Tests that decoding and deobfuscation change the same if they look at every special character, not only at the candidates.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { anyCharacter } from "../../../test/support/characters.ts";
import { decodeEscapes } from "./decode.ts";
import { removeNoOpSyntax, replaceComments } from "./deobfuscate.ts";
import { normalize } from "./normalize.ts";
import type { NormalizedText } from "./normalized-text.ts";
import type { RewrittenText } from "./rewriter.ts";
import { CodeUnitBuffer } from "./scratch-buffer.ts";
import { findSyntax, type SyntaxCandidates } from "./syntax-candidates.ts";
import { runs } from "../../../test/support/long-form.ts";

const buffer = new CodeUnitBuffer();

function normalized(text: string): NormalizedText {
  return normalize(buffer.read(text), 0, text.length, { steps: 0, limit: Infinity });
}

const STEPS = { decodeEscapes, replaceComments, removeNoOpSyntax };

/** Candidates of which none was rejected. */
function allSpecials({ specials }: NormalizedText): SyntaxCandidates {
  return { positions: specials.positions, count: specials.count, hasEscapes: true, hasComments: true };
}

function described(rewritten: RewrittenText | null): unknown {
  if (rewritten === null) return null;
  const { codes, length, specials } = rewritten.text;
  return {
    text: String.fromCharCode(...codes.subarray(0, length)),
    specials: [...specials.positions.subarray(0, specials.count)],
    ranges: [...rewritten.changedRanges],
  };
}

function listed(text: string): number[] {
  const { positions, count } = findSyntax(normalized(text));
  return [...positions.subarray(0, count)];
}

const quote = fc.constantFrom("'", '"', "`");
const beside = fc.constantFrom("a", "/", "_", " ", "");
/** Quotes at all distances up to one more than the largest. */
const quoted = fc
  .tuple(beside, quote, fc.string({ unit: fc.constantFrom("a", "b", "c", "/"), maxLength: 7 }), quote, beside)
  .map((parts) => parts.join(""));
const piece = fc.oneof(
  quoted,
  fc.constantFrom(...Array.from("'\"`/*%&\\$<>^!()@?.+#;- \nazAZ_09é")),
  fc.constantFrom(
    "w^h",
    "/*",
    "*/",
    "<!--",
    "-->",
    "$(",
    ">()",
    "''",
    "' + '",
    "%41",
    "%u0041",
    "&lt",
    "\\x41",
  ),
  fc.string({ unit: anyCharacter, maxLength: 3 }),
);
const text = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(""));

for (const [name, step] of Object.entries(STEPS)) {
  test(`${name} changes nothing at other positions`, () => {
    fc.assert(
      fc.property(text, (content) => {
        const input = normalized(content);
        const expected = described(step(input, allSpecials(input), 1));
        expect(described(step(input, findSyntax(input), 1))).toEqual(expected);
      }),
      { numRuns: runs({ short: 400, long: 2_000 }) },
    );
  });
}

test("candidates are rare in ordinary text", () => {
  for (const ordinary of [
    `import { expect, test } from "bun:test"; // see https://example.com`,
    'A `verb` and a "noun" aren\'t the same (100 % & more), 3 * 4 > 5 / 6 ^ 2.',
    "const id = `${a}-${b}`; if (a < b && c > d) f('id', \"GET\", 'a');",
  ])
    expect(listed(ordinary), ordinary).toEqual([]);
});

test.each([
  ["c''at", [1]],
  ["'sys'.'tem'", [4]],
  ["'wh'oami", [0, 3]],
  ["/et'c/pa'sswd", [3, 8]],
  ["%41 %zz &lt; & \\", [0, 8, 15]],
  ["a /* b */ <!-- $x >( w^h", [2, 7, 10, 18, 22]],
])("finds the candidates of %p", (content, expected) => {
  expect(listed(content)).toEqual(expected);
});

test("lists as many candidates as a long text has, and those of the next text after it", () => {
  const count = 200_000;
  expect(listed("\\ ".repeat(count))).toHaveLength(count);
  expect(listed("\\ ".repeat(3))).toEqual([0, 2, 4]);
});
