// Tests one round of decoding against regular expressions, and that each unit maps back to its escape.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { anyCharacter } from "../../../test/support/characters.ts";
import { FOLDED } from "./char-classes.ts";
import { decodeEscapes } from "./decode.ts";
import { normalize } from "./normalize.ts";
import { originalSpan, type NormalizedText } from "./normalized-text.ts";
import { CodeUnitBuffer } from "./scratch-buffer.ts";
import { findSyntax } from "./syntax-candidates.ts";
import { runs } from "../../../test/support/long-form.ts";

const buffer = new CodeUnitBuffer();
const asString = ({ codes, length }: NormalizedText): string =>
  String.fromCharCode(...codes.subarray(0, length));

function normalized(text: string): NormalizedText {
  return normalize(buffer.read(text), 0, text.length, { steps: 0, limit: Infinity });
}

const BYTES =
  /%f[0-9a-f](?:%[89ab][0-9a-f]){3}|%e[0-9a-f](?:%[89ab][0-9a-f]){2}|%[cd][0-9a-f]%[89ab][0-9a-f]/;
const ENTITY = /&#x(?<hexEntity>[0-9a-f]{1,12});?|&#(?<decimal>[0-9]{1,12});?|&(?<name>[\w\u0080-\uffff]+);?/;
const BACKSLASH =
  /\\u\{(?<braced>[0-9a-f]{1,8})\}|\\u(?<unicode>[0-9a-f]{4})|\\x(?<hex>[0-9a-f]{2})|\\(?<css>00[0-9a-f]{2,4})|\\(?<octal>1(?!77)[0-7]{2}|[4-7][0-7](?![0-7])|0[4-7][0-7])|\\(?<escaped>[^])/;
const ESCAPE = new RegExp(
  `(?<bytes>${BYTES.source})|%(?<byte>[0-9a-f]{2})|%u(?<percentUnicode>[0-9a-f]{4})|${ENTITY.source}|${BACKSLASH.source}`,
  "gi",
);
const NAMES = new Map(Object.entries({ lt: "<", amp: "&", quot: '"', sol: "/", newline: "\n", tab: "\t" }));
const LETTERS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", v: "\v", f: "\f", "\n": "\0" };

/** Returns what the escape encodes; null if it is none. */
function decoded(escape: string, groups: Readonly<Record<string, string | undefined>>): string | null {
  const { bytes, byte, percentUnicode, hexEntity, decimal, name, braced, unicode, hex, css, octal, escaped } =
    groups;
  if (bytes !== undefined)
    return fromUtf8(
      bytes
        .split("%")
        .slice(1)
        .map((digits) => parseInt(digits, 16)),
    );
  const digits = byte ?? percentUnicode ?? hexEntity ?? braced ?? unicode ?? hex ?? css;
  if (digits !== undefined) return fromCode(parseInt(digits, 16));
  if (decimal !== undefined) return fromCode(Number(decimal));
  if (octal !== undefined) return fromCode(parseInt(octal, 8));
  if (escaped !== undefined) return LETTERS[escaped] ?? escaped;
  const character = NAMES.get(name?.toLowerCase() ?? "");
  const needsSemicolon = /^(?:sol|newline|tab)$/i.test(name ?? "");
  return character === undefined || (needsSemicolon && !escape.endsWith(";")) ? null : character;
}

/** Without checks, because overlong forms are decoded as well. */
function fromUtf8([first = 0, ...rest]: readonly number[]): string {
  return fromCode(rest.reduce((code, byte) => code * 64 + (byte & 0x3f), first & (0x3f >> rest.length)));
}

/** Characters outside of the basic plane become one unit. */
function fromCode(code: number): string {
  return String.fromCharCode(code > 0xffff ? 0xfffd : code);
}

/** What is left of a string after its units were folded. Whitespace is merged, because a round merges it only with what is before. */
function folded(text: string): string {
  let result = "";
  for (let index = 0; index < text.length; index++) {
    const code = FOLDED[text.charCodeAt(index)] ?? 0;
    if (code !== 0) result += String.fromCharCode(code);
  }
  return result.replace(/[ \n]+/g, " ");
}

const piece = fc.oneof(
  fc.constantFrom(...Array.from("%&\\#;xXuU{}0123478abcdefnrt \n'\"/")),
  fc.constantFrom("%41", "%2", "%u00", "%u0041", "%c3%a9", "%e2%82%ac", "%f0%9f%98%80", "%c0%af"),
  fc.constantFrom(
    "&lt",
    "&lt;",
    "&AMP;",
    "&sol",
    "&sol;",
    "&newline;",
    "&other;",
    "&#65",
    "&#0065;",
    "&#x41;",
  ),
  fc.constantFrom(
    "\\u",
    "\\u0041",
    "\\u{41}",
    "\\u{1f600}",
    "\\x41",
    "\\X4",
    "\\0061",
    "\\141",
    "\\08",
    "\\n",
  ),
  fc.constantFrom("\\40", "\\177", "\\477", "\\00", "\\", "1", "4", "7"),
  fc.string({ unit: anyCharacter, maxLength: 2 }),
);
const text = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(""));

test("decodes what regular expressions decode", () => {
  fc.assert(
    fc.property(text, (content) => {
      const input = normalized(content);
      const before = asString(input);
      const expected = before.replace(ESCAPE, (escape: string, ...rest: unknown[]) => {
        // The last argument has the named groups.
        return decoded(escape, rest.at(-1) as Record<string, string | undefined>) ?? escape;
      });
      const result = decodeEscapes(input, findSyntax(input), 1);
      expect(folded(result === null ? before : asString(result.text))).toBe(folded(expected));
    }),
    { numRuns: runs({ short: 600, long: 3_000 }) },
  );
});

test("each unit of a decoded text maps to its escape or to itself", () => {
  const escapes = fc.constantFrom(
    "%41",
    "&lt;",
    "\\u0041",
    "\\x41",
    "\\n",
    "\\'",
    "&#65;",
    "%u0041",
    "\\141",
    "b",
    "c",
    "\\\n",
    "%20",
  );
  fc.assert(
    fc.property(fc.array(escapes, { maxLength: 80 }), (pieces) => {
      const content = pieces.join("");
      const result = decodeEscapes(normalized(content), findSyntax(normalized(content)), 1);
      if (result === null) return;
      const spans: string[] = [];
      for (let index = 0; index < result.text.length; index++) {
        const { start, end } = originalSpan(result.text, index, index + 1);
        spans.push(content.slice(start, end));
      }
      // A line that continues has no unit, and whitespace after whitespace belongs to no unit.
      let last = "";
      const expected = pieces.filter((escape) => {
        if (escape === "\\\n") return false;
        const isMerged = isWhitespace(escape) && isWhitespace(last);
        last = escape;
        return !isMerged;
      });
      expect(spans).toEqual(expected);
    }),
    { numRuns: runs({ short: 200, long: 1_000 }) },
  );
});

function isWhitespace(escape: string): boolean {
  return escape === "\\n" || escape === "%20";
}
