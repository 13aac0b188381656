// Tests that encodings and obfuscation do not hide a match, and that findings map back to the original characters.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { compileDetector } from "./detector.ts";
import { normalize } from "./normalize.ts";
import { originalSpan } from "./normalized-text.ts";
import { CodeUnitBuffer, scratchBufferFor } from "./scratch-buffer.ts";
import { LANGUAGES } from "./settings.ts";
import { anyCharacter } from "../../../test/support/characters.ts";
import { runs } from "../../../test/support/long-form.ts";

const detector = compileDetector(LANGUAGES);
const units = (text: string, write: (code: number) => string): string =>
  Array.from({ length: text.length }, (_, index) => write(text.charCodeAt(index))).join("");
const hex = (code: number, width: number): string => code.toString(16).padStart(width, "0");

const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
  percent: (text) => units(text, (code) => `%${hex(code, 2)}`),
  "percent twice": (text) => units(text, (code) => `%25${hex(code, 2)}`),
  "percent u": (text) => units(text, (code) => `%u${hex(code, 4)}`),
  "decimal entities": (text) => units(text, (code) => `&#${code};`),
  "decimal entities without semicolon, with zeroes": (text) => units(text, (code) => `&#00${code};`),
  "hex entities": (text) => units(text, (code) => `&#x${hex(code, 1)};`),
  "unicode escapes": (text) => units(text, (code) => `\\u${hex(code, 4)}`),
  "unicode escapes in braces": (text) => units(text, (code) => `\\u{${hex(code, 1)}}`),
  "hex escapes": (text) => units(text, (code) => `\\x${hex(code, 2)}`),
  "full width": (text) => units(text, (code) => String.fromCharCode(code > 0x20 ? code + 0xfee0 : code)),
  "full width in percent": (text) =>
    encodeURIComponent(units(text, (code) => String.fromCharCode(code > 0x20 ? code + 0xfee0 : code))),
  "zero width": (text) => units(text, (code) => `${String.fromCharCode(code)}\u200b`),
  "soft hyphens": (text) => units(text, (code) => `\u00ad${String.fromCharCode(code)}`),
  "entities in percent": (text) => encodeURIComponent(units(text, (code) => `&#${code};`)),
  "JSON in JSON": (text) => JSON.stringify(JSON.stringify(text)),
  mixed: (text) =>
    Array.from(text, (character, index) => {
      const code = character.charCodeAt(0);
      return [character, `%${hex(code, 2)}`, `&#${code};`, `\\x${hex(code, 2)}`][index % 4];
    }).join(""),
};
const PAYLOADS = [
  "1 UNION SELECT password FROM users",
  "<script>go()</script>",
  "; cat /etc/passwd",
  "eval('x')",
  "' or 1=1 --",
  "Runtime.getRuntime().exec('id')",
  "<img src=x onerror=go()>",
];

for (const [name, encode] of Object.entries(ENCODINGS)) {
  test.each(PAYLOADS.map((text) => [text]))(`${name} does not hide %s`, (text) => {
    expect(detector.first(encode(text))).not.toBeNull();
    expect(detector.first(`some words before ${encode(text)}`)).not.toBeNull();
  });
}

describe("comments and syntax without effect", () => {
  test.each([
    ["UN/**/ION SEL/*x*/ECT 1,2"],
    ["UNION/**/SELECT/**/password/**/FROM/**/users"],
    ["UNI%2f%2a%2a%2fON SELECT 1"],
    ["UN/**/ION %53ELECT 1"],
    ["/*!50000union*/ /*!select*/ 1"],
    ["union -- x\nselect 1"],
    ["union%23x%0Aselect 1"],
    ["DR/**/OP TABLE users"],
    ["<scr<!-- -->ipt>"],
    ["ev/**/al(x)"],
    ["eval/* x */(x)"],
    ["; c''at /etc/hosts"],
    ['; c""at /etc/hosts'],
    ["; c$@at /etc/hosts"],
    ["; w^h^o^a^m^i"],
    ["'sys'.'tem'('id')"],
    ["union                                                       select 1"],
    ["union\u00a0\u3000\t\nselect 1"],
    ["UnIoN sElEcT 1"],
  ])("do not hide %s", (text) => expect(detector.first(text)).not.toBeNull());
});

test("a finding in an encoded text covers the encoded characters", () => {
  const text = "q=%3Cscript%3E now";
  const [finding] = compileDetector(["html"]).findAll(text);
  expect(text.slice(finding!.start, finding!.end)).toBe("%3Cscript%3E");
});

test("finds a match whose parts are far apart in the original text", () => {
  const text = `union${"\u200b".repeat(5000)}${" ".repeat(5000)}select/*${"x".repeat(5000)}*/1`;
  expect(compileDetector(["sql"]).first(text)).not.toBeNull();
});

const piece = fc.oneof(
  fc.string({ maxLength: 6, unit: anyCharacter }),
  fc.constantFrom(
    ...PAYLOADS,
    "%",
    "&#",
    "\\",
    "\\u00",
    "/*",
    "*/",
    "''",
    "\u200b",
    "ａ",
    "😀",
    "  \n",
    "%e2%82%ac",
    "&lt;",
    "%25",
  ),
  fc
    .constantFrom(...PAYLOADS)
    .chain((text) => fc.constantFrom(...Object.values(ENCODINGS)).map((encode) => encode(text))),
);
const hostile = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));

test("findings are inside the text, sorted and not empty", () => {
  fc.assert(
    fc.property(hostile, (text) => {
      let last = 0;
      for (const { start, end } of detector.findAll(text)) {
        expect(start).toBeGreaterThanOrEqual(last);
        expect(end).toBeGreaterThan(start);
        expect(end).toBeLessThanOrEqual(text.length);
        last = start;
      }
      expect(detector.first(text) === null).toBe(detector.findAll(text).length === 0);
    }),
    { numRuns: runs({ short: 120, long: 600 }) },
  );
});

test("each unit of the normalized text maps to its own characters", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 60 }), (text) => {
      const normalized = normalize(new CodeUnitBuffer().read(text), 0, text.length, {
        steps: 0,
        limit: Infinity,
      });
      let last = 0;
      for (let index = 0; index < normalized.length; index++) {
        const span = originalSpan(normalized, index, index + 1);
        expect(span.start).toBeGreaterThanOrEqual(last);
        expect(span.end).toBeGreaterThan(span.start);
        last = span.end;
      }
      expect(last).toBeLessThanOrEqual(text.length);
    }),
  );
});

test("finds a payload in prose, and not the prose", () => {
  const words = fc.array(fc.constantFrom("the", "weather", "is", "fine,", "and", "we", "walk."), {
    maxLength: 30,
  });
  fc.assert(
    fc.property(words, words, fc.constantFrom(...PAYLOADS), (before, after, payload) => {
      const text = `${before.join(" ")} ${payload} ${after.join(" ")}`;
      const from = before.join(" ").length;
      for (const { start, end } of detector.findAll(text)) {
        expect(end).toBeGreaterThan(from);
        expect(start).toBeLessThanOrEqual(from + payload.length + 1);
      }
      expect(detector.first(text)).not.toBeNull();
    }),
  );
});

test("releases the buffers of a very long text after its scan", () => {
  // All spaces become one, so the decoded text fits into a buffer that is kept.
  expect(detector.first(`${" ".repeat(1 << 21)}%41/**/\\x41`)).toBeNull();
  for (let depth = 0; depth < 5; depth++) expect(scratchBufferFor(1, depth).parent).toBeNull();
});
