// Tests that the work of a scan is linear for hostile texts. Work is counted in steps, not timed, so the tests are deterministic.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { compileDetector } from "./detector.ts";
import { maskText } from "./mask.ts";
import { LANGUAGES } from "./settings.ts";
import { WorkExhausted } from "./work-budget.ts";

const work = { steps: 0, limit: Infinity };
const detector = compileDetector(LANGUAGES, work);
const SMALL = 4_000;
const FACTOR = 10;
/** Above the steps per code unit of the worst known text. */
const MAX_STEPS_PER_UNIT = 600;

const HOSTILE = [
  " ",
  "'",
  '"',
  "`",
  "<",
  "SELECT ",
  "select a,",
  "union ",
  "union(",
  "or 1 ",
  "' or ",
  "%25",
  "%",
  "&#",
  "&lt;",
  "\\",
  "\\u0061",
  "/*",
  "*/",
  "/*!",
  "<!--",
  "eval(",
  "eval ",
  "$(",
  "${",
  ";",
  "; ",
  "|",
  "| ",
  "&",
  "=",
  " on=",
  "<a b=c ",
  ":",
  "javascript:",
  "(",
  "[][",
  "{{",
  "--",
  "@@",
  "0x",
  "for %a in (",
  "if /i a==",
  "cat /",
  "cd ",
  "'a'.",
  "''",
  'filename="',
  "<?php ",
  "$a[",
  "\n",
  "\n|",
  "| a ",
  "a",
  "ａ",
  "\u200b",
  "😀",
  "constructor.constructor",
  "while (a-b<",
  "echo a",
  "curl http://a",
  "<script ",
  "alert(",
  "o:1:",
];

function stepsFor(text: string): number {
  work.steps = 0;
  detector.findAll(text);
  return work.steps;
}

function repeatTo(pattern: string, length: number): string {
  return pattern.repeat(Math.ceil(length / pattern.length)).slice(0, length);
}

test.each(HOSTILE.map((pattern) => [pattern]))("is linear for a text of %p", (pattern) => {
  const few = stepsFor(repeatTo(pattern, SMALL));
  const many = stepsFor(repeatTo(pattern, SMALL * FACTOR));
  expect(many).toBeLessThan(few * FACTOR * 1.2 + 1000);
  expect(many / (SMALL * FACTOR)).toBeLessThan(MAX_STEPS_PER_UNIT);
});

test("is bounded for any mixture of hostile pieces", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...HOSTILE), { minLength: 1, maxLength: 6 }), (pieces) => {
      const text = repeatTo(pieces.join(""), SMALL);
      expect(stepsFor(text) / SMALL).toBeLessThan(MAX_STEPS_PER_UNIT);
    }),
    { numRuns: 150 },
  );
});

test("the steps of hostile texts count what they take: looked up words, called matchers, matches", () => {
  // Each took fewer steps per unit, but as much time per step as two others.
  const least = {
    "]| bash": 6,
    "&#x27;rev ": 8,
    "''||reg delete ssh2.scp://": 3.7,
    "=": 1.1,
    ":": 1.1,
    "!&&+podman run": 3.2,
    " /p*capture3": 2,
    "and(": 2.8,
    "%": 1.2,
    file_: 2,
    "receiverofanothermethod.eval(": 11,
  };
  for (const [pattern, steps] of Object.entries(least))
    expect(stepsFor(repeatTo(pattern, SMALL)) / SMALL, pattern).toBeGreaterThan(steps);
});

test("a scan stops soon after it exceeds its limit", () => {
  for (const pattern of HOSTILE) {
    const text = repeatTo(pattern, SMALL * FACTOR);
    const limit = text.length;
    try {
      detector.limitWork(limit, () => detector.findAll(text));
    } catch (error) {
      expect(error).toBeInstanceOf(WorkExhausted);
    }
    expect(work.steps, pattern).toBeLessThan(limit * 1.8);
  }
});

test("a scan that rejects all triggers stops soon after it exceeds its limit", () => {
  const text = repeatTo("::", SMALL * FACTOR);
  const limit = text.length / 2;
  expect(() => detector.limitWork(limit, () => detector.findAll(text))).toThrow(WorkExhausted);
  expect(work.steps).toBeLessThan(limit + 2 * SMALL);
});

test.each(["%", "\\"])(
  "the search for escapes in a text of %p stops soon after it exceeds its limit",
  (pattern) => {
    const text = repeatTo(pattern, SMALL);
    const scanned = detector.limitWork(Infinity, () => {
      detector.findAll(text);
      return work.steps;
    });
    // Every limit below the work of the whole scan, in small steps.
    for (let limit = SMALL / 10; limit < scanned; limit += SMALL / 10) {
      expect(() => detector.limitWork(limit, () => detector.findAll(text))).toThrow(WorkExhausted);
      expect(work.steps, String(limit)).toBeLessThan(limit + SMALL);
    }
  },
);

test("the search for the end of an HTML comment counts as work", () => {
  expect(stepsFor(repeatTo("<!--", SMALL))).toBeGreaterThan(6 * SMALL);
});

test("masking takes a bounded number of passes", () => {
  for (const char of [";", "<", "'", "|", "X"]) {
    const text = repeatTo("eval(x)id;ls -la eval(y)whoami;", SMALL);
    const once = stepsFor(text);
    work.steps = 0;
    maskText(text, detector, char);
    expect(work.steps).toBeLessThan(once * 8);
  }
});
