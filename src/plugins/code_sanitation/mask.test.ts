// Tests that masking keeps the length, changes only matches, and is idempotent if the mask is part of the syntax of a language.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { compileDetector } from "./detector.ts";
import { maskFindings, maskText } from "./mask.ts";
import { LANGUAGES } from "./settings.ts";
import { runs } from "../../../test/support/long-form.ts";

const detector = compileDetector(LANGUAGES);
const PRINTABLE = Array.from({ length: 0x5f }, (_, index) => String.fromCharCode(0x20 + index));

test("replaces every matched character in place", () => {
  expect(maskText("before <script> after", compileDetector(["html"]), "X")).toBe("before XXXXXXXX after");
  expect(maskText("%3Cscript%3E!", compileDetector(["html"]), "*")).toBe("************!");
});

test("returns clean text unchanged", () => {
  const text = "please select a union rep and drop by the table";
  expect(maskText(text, detector, "X")).toBe(text);
});

test("masks overlapping findings once", () => {
  const finding = { language: "sql", pattern: "sql.x" } as const;
  const findings = [
    { ...finding, start: 1, end: 4 },
    { ...finding, start: 2, end: 3 },
    { ...finding, start: 3, end: 6 },
  ];
  expect(maskFindings("abcdefgh", findings, "X")).toBe("aXXXXXgh");
});

test("never splits a surrogate pair", () => {
  const finding = { language: "sql", pattern: "sql.x" } as const;
  expect(maskFindings("a😀b😀c", [{ ...finding, start: 2, end: 5 }], "X")).toBe("aXXXXXc");
});

test("masks many findings as it masks few", () => {
  const part = "a😀eval(x)\ud800 %3Cscript%3E b 😀😀c ";
  const [one, many] = [part, part.repeat(60)].map((text) => maskText(text, detector, "X"));
  expect(detector.findAll(part.repeat(60)).length).toBeGreaterThan(50);
  expect(many).toBe(one?.repeat(60));
  // Overlapping, and in the middle of surrogate pairs.
  const finding = { language: "sql", pattern: "sql.x" } as const;
  const findings = Array.from({ length: 50 }, (_, index) => [
    { ...finding, start: index * 8 + 2, end: index * 8 + 5 },
    { ...finding, start: index * 8 + 3, end: index * 8 + 4 },
  ]).flat();
  expect(maskFindings("a😀b😀cd".repeat(50), findings, "X")).toBe("aXXXXXcd".repeat(50));
});

const piece = fc.oneof(
  fc.constantFrom(
    "eval(x)",
    "id",
    "whoami",
    "<script>",
    "or 1=1",
    "' or 'a'='a",
    "UNION SELECT 1",
    "cat /etc/passwd",
    "ls -la",
    "onerror=go()",
    "script>",
    "img src=x onload=x",
    "select 1,2",
    "$(id)",
    "`id`",
    "system('x')",
    "%3Cscript%3E",
    "UN/**/ION SELECT 2",
    "DROP TABLE x",
    "admin",
    "1",
    "'",
    '"',
    "(",
    "<",
    ";",
    "|",
    "&",
    "=",
    " ",
    "\n",
    "/*",
    "--",
    "exec(",
    "php",
    "x",
  ),
  fc.string({ maxLength: 4 }),
);
const text = fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join(""));

const PLAIN = PRINTABLE.filter((char) => /[\w*.]/.test(char));
const SYNTAX = PRINTABLE.filter((char) => !PLAIN.includes(char));

test("masks the findings and changes nothing else", () => {
  fc.assert(
    fc.property(text, fc.constantFrom(...PLAIN), (original, char) => {
      const isFound = new Uint8Array(original.length);
      for (const { start, end } of detector.findAll(original)) isFound.fill(1, start, end);
      const expected = Array.from(isFound, (found, index) => (found === 1 ? char : original[index])).join("");
      expect(maskText(original, detector, char)).toBe(expected);
    }),
    { numRuns: runs({ short: 300, long: 1500 }) },
  );
});

test("does not mask a quote whose partner was masked", () => {
  const python = `please run exec(compile("print(open('/etc/shadow').read())", "s", "exec")) and explain it`;
  expect(maskText(python, detector, "X")).toBe(
    `please run XXXXXXXXXXXXXXprint(XXXXXXXXXXXXXXXXX').read())", "s", "exec")) and explain it`,
  );
  const sql = "-26 union select 1,2,load_file('/srv/x.conf')--";
  expect(maskText(sql, detector, "X")).toEndWith("'/srv/x.conf')--");
});

test("with a mask that is syntax, is idempotent and keeps the length", () => {
  fc.assert(
    fc.property(text, fc.constantFrom(...SYNTAX), (original, char) => {
      const masked = maskText(original, detector, char);
      expect(masked.length).toBe(original.length);
      expect(detector.first(masked)).toBeNull();
      expect(maskText(masked, detector, char)).toBe(masked);
      for (let index = 0; index < masked.length; index++) {
        expect(masked[index] === original[index] || masked[index] === char).toBe(true);
      }
    }),
    { numRuns: runs({ short: 300, long: 1500 }) },
  );
});

test("a text that consists of the mask only is clean, so that masking always ends", () => {
  for (const char of PRINTABLE) {
    for (const length of [1, 2, 3, 7, 40, 1000]) expect(detector.first(char.repeat(length))).toBeNull();
  }
});
