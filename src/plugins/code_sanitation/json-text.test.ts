// Tests of JSON texts: strings are scanned decoded, everything outside a match stays byte for byte, and the result is valid JSON.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { compileDetector } from "./detector.ts";
import { firstInJson, maskJson } from "./json-text.ts";
import { maskText } from "./mask.ts";
import { LANGUAGES } from "./settings.ts";
import { anyCharacter } from "../../../test/support/characters.ts";

const detector = compileDetector(LANGUAGES);

test("returns a clean text unchanged", () => {
  const text = '{ "model" : "m", "n": 12345678901234567890, "s": "caf\\u00e9 \\/ \\"x\\"" }';
  expect(maskJson(text, detector, "X")).toBe(text);
  expect(firstInJson(text, detector)).toBeNull();
});

test("keeps everything outside a match byte for byte", () => {
  const text =
    '{ "big": 1e400, "n":12345678901234567890,\n "a":"x \\u00e9\\/ <script> \\"y\\"", "z" : [ true,null ] }';
  expect(maskJson(text, detector, "*")).toBe(text.replace("<script>", "********"));
});

test("escapes do not hide a match, and the string keeps its decoded length", () => {
  const text = '{"a":"\\u003cscript\\u003e!"}';
  expect(maskJson(text, detector, "X")).toBe('{"a":"XXXXXXXX!"}');
  expect(firstInJson(text, detector)).toMatchObject({ start: 0, end: 8, language: "html" });
});

test("masks object keys", () => {
  expect(maskJson('{"<script>":1}', detector, "X")).toBe('{"XXXXXXXX":1}');
});

test("escapes a mask character that JSON requires to be escaped", () => {
  for (const char of ['"', "\\"]) {
    const masked = maskJson('{"a":"<script>"}', detector, char);
    expect(JSON.parse(masked)).toEqual({ a: char.repeat(8) });
  }
});

test("finds code in JSON inside JSON, as in tool call arguments", () => {
  const text = JSON.stringify({ arguments: JSON.stringify({ q: "1' UNION SELECT 1,2 --" }) });
  expect(firstInJson(text, detector)).not.toBeNull();
  expect(firstInJson(maskJson(text, detector, "X"), detector)).toBeNull();
});

test("does not throw for text that is not JSON", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      maskJson(text, detector, "X");
      firstInJson(text, detector);
    }),
  );
  expect(maskJson('{"a":"<script>', detector, "X")).toBe('{"a":"XXXXXXXX');
});

const payload = fc.constantFrom(
  "<script>",
  "1 UNION SELECT 2",
  "eval('x')",
  "' or 'a'='a",
  "; cat /etc/passwd",
  "\u0000<scr\nipt>",
  "😀$(id)😀",
);
const word = fc.oneof(payload, fc.string({ unit: anyCharacter, maxLength: 8 }));
const string = fc.array(word, { maxLength: 4 }).map((words) => words.join(" "));
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    string,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(string, tie("value")), { maxLength: 4 }).map((pairs) => ({ pairs })),
  ),
})).value;

/** Reference implementation on parsed values. */
function maskValue(value: unknown, char: string): unknown {
  if (typeof value === "string") return maskText(value, detector, char);
  if (Array.isArray(value)) return value.map((item) => maskValue(item, char));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [maskText(key, detector, char), maskValue(item, char)]),
  );
}

test("equals parsing, masking each string and serializing, for any JSON, mask and indentation", () => {
  fc.assert(
    fc.property(
      json,
      fc.constantFrom("X", "*", '"', "\\", ";", "'", "<"),
      fc.constantFrom(0, 2),
      (value, char, indent) => {
        const text = JSON.stringify(value, null, indent);
        const masked = maskJson(text, detector, char);
        expect(JSON.parse(masked)).toEqual(maskValue(JSON.parse(text), char));
        if (!/[\w*.]/.test(char)) expect(maskJson(masked, detector, char)).toBe(masked);
        expect(firstInJson(text, detector) === null).toBe(masked === text);
      },
    ),
    { numRuns: 400 },
  );
});

test("gives the same result if every code unit is escaped", () => {
  fc.assert(
    fc.property(string, (value) => {
      const escaped = Array.from(
        { length: value.length },
        (_, index) => `\\u${value.charCodeAt(index).toString(16).padStart(4, "0")}`,
      );
      const masked = maskJson(`["${escaped.join("")}"]`, detector, "X");
      expect(JSON.parse(masked)).toEqual([maskText(value, detector, "X")]);
    }),
  );
});
