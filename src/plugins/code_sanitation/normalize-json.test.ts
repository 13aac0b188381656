// The WebAssembly module normalizes JSON strings as decoding their bytes and escapes, then normalizing the units, does.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { MAX_CLEAN_UNITS } from "./clean-strings.ts";
import { compileDetector } from "./detector.ts";
import { unescapeUnits } from "./json-unescape.ts";
import { createNormalizer } from "./normalize-json.ts";
import { normalize } from "./normalize.ts";
import { LANGUAGES } from "./settings.ts";
import { BLOCK_UNITS, MIN_READ_UNITS } from "./trigger-memory.ts";
import { anyCharacter } from "../../../test/support/characters.ts";
import { runs } from "../../../test/support/long-form.ts";

const work = () => ({ steps: 0, limit: Infinity });

const normalizer = createNormalizer(new WebAssembly.Memory({ initial: 32, maximum: 32 }));

/** The result of the module. */
function fast(json: string) {
  const bytes = Buffer.from(`#${json}#`);
  const text = normalizer?.normalize(bytes, 1, bytes.length - 1, work());
  if (text === undefined || text === null) return null;
  const { codes, length, specials, decodedUnits } = text;
  return {
    text: String.fromCharCode(...codes.subarray(0, length)),
    padding: [...codes.subarray(length, length + 8)],
    specials: [...specials.positions.subarray(0, specials.count)],
    decodedUnits,
  };
}

/** The same, from the functions that other texts are normalized with. */
function slow(json: string) {
  const units = Uint16Array.from({ length: json.length }, (_, index) => json.charCodeAt(index));
  const decoded = new Uint16Array(json.length);
  const decodedUnits = unescapeUnits(units, 0, units.length, decoded);
  const { codes, length, specials } = normalize(decoded, 0, decodedUnits, work());
  return {
    text: String.fromCharCode(...codes.subarray(0, length)),
    padding: [...codes.subarray(length, length + 8)],
    specials: [...specials.positions.subarray(0, specials.count)],
    decodedUnits,
  };
}

/** Pieces of JSON strings: runs of ASCII of any length, whitespace, escapes of every kind, and characters of one to four bytes. */
const piece = fc.oneof(
  { weight: 4, arbitrary: fc.stringMatching(/^[ -!#-[\]-~]{0,40}$/) },
  fc.constantFrom(" ", "  ", "\\n", "\\r\\n", "\\t", " \\n ", "\\u0020", "\\u00a0", "\\u2028", "\u{7f}"),
  fc.constantFrom(
    '\\"',
    "\\\\",
    "\\/",
    "\\b",
    "\\f",
    "%41",
    "&lt;",
    "/*",
    "*/",
    "'",
    "`",
    "$",
    "<",
    ">",
    "^",
  ),
  fc.constantFrom(
    "\u200b",
    "\u00ad",
    "\ufeff",
    "\\u200b",
    "\u3000",
    "\u{e0041}",
    "\uff1c",
    "\\uFF1c",
    "\ufe64",
  ),
  fc.constantFrom("é", "ß", "中文", "😀", "\\ud83d\\ude00", "\\ud800", "\\u0000", "\\u001f", "\\u0041"),
  fc.string({ unit: anyCharacter, maxLength: 8 }).map((text) => JSON.stringify(text).slice(1, -1)),
);
const json = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(""));
/** Several of them are located in the same block of the module, and runs of whitespace continue in the next block. */
const shortPiece = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(" ", "\\n", "\\t", "\\r", "\\\\", '\\"', "n", "t", "<", "word") },
  { weight: 1, arbitrary: fc.constantFrom("a sentence of prose", "é", "\u200b", "\u3000", "\\u000a", "\\b") },
);

describe("a JSON string", () => {
  test("is normalized as its decoded text is", () => {
    fc.assert(
      fc.property(json, (content) => {
        expect(fast(content)).toEqual(slow(content));
      }),
      { numRuns: runs({ short: 600, long: 3000 }) },
    );
  });

  test("is normalized as its decoded text is if it has many escapes and much whitespace", () => {
    fc.assert(
      fc.property(fc.array(shortPiece, { minLength: 10, maxLength: 120, size: "max" }), (pieces) => {
        const content = pieces.join("");
        expect(fast(content)).toEqual(slow(content));
      }),
      { numRuns: runs({ short: 600, long: 3000 }) },
    );
  });

  test("with an invalid escape anywhere is not read", () => {
    const escape = fc.constantFrom("\\x", "\\ ", "\\%", "\\N", "\\u12g4", "\\u 123", "\\é");
    fc.assert(
      fc.property(json, escape, json, (before, invalid, after) => {
        expect(fast(`${before}${invalid}${after}`)).toBeNull();
        // What the string before had at the same place is not read.
        fast(`${before}\\n`);
        expect(fast(`${before}\\`)).toBeNull();
      }),
      { numRuns: runs({ short: 100, long: 500 }) },
    );
  });

  test("of 128 KiB is read, a longer one is not", () => {
    const longest = "a b ".repeat(32 * 1024);
    expect(fast(longest)?.decodedUnits).toBe(128 * 1024);
    expect(fast(`${longest}x`)).toBeNull();
  });

  test.each(["\\", "\\x", "\\u12", "\\u12g4", "text \\u"])("that is not valid is not read: %p", (content) => {
    expect(fast(content)).toBeNull();
  });

  test("keeps nothing of the string before", () => {
    fast(`${"%".repeat(1000)} `);
    expect(fast("")).toEqual({ text: "", padding: Array<number>(8).fill(0), specials: [], decodedUnits: 0 });
    expect(fast(" a")?.text).toBe(" a");
  });
});

describe("isCleanJson", () => {
  const detector = compileDetector(LANGUAGES);
  // The module is used after so many units.
  detector.findAll("z".repeat(MIN_READ_UNITS));
  const code = fc.constantFrom(
    "<script>",
    "' or 1=1 --",
    "; rm -rf /",
    "eval(",
    "union select",
    "%3Cscript%3E",
  );
  const short = fc.array(fc.oneof(piece, code), { maxLength: 20 }).map((pieces) => pieces.join(""));
  /** The pieces are located in the second or third block that the automaton reads, or across two blocks. */
  const long = fc
    .tuple(fc.nat(), short)
    .map(([units, text]) => `${"z".repeat(BLOCK_UNITS - 100 + (units % (BLOCK_UNITS + 100)))}${text}`);
  const mixed = fc.oneof({ weight: 3, arbitrary: short }, long);

  test("agrees with the scan of the decoded text of long strings and counts the same steps if it is clean", () => {
    fc.assert(
      fc.property(mixed, (content) => {
        const bytes = Buffer.from(content);
        const [isClean, steps] = detector.limitWork(Infinity, () => [
          detector.isCleanJson(bytes, 0, bytes.length),
          detector.workDone,
        ]);
        const units = Uint16Array.from({ length: content.length }, (_, index) => content.charCodeAt(index));
        const decoded = new Uint16Array(content.length);
        const length = unescapeUnits(units, 0, units.length, decoded);
        const [findings, expectedSteps] = detector.limitWork(Infinity, () => [
          detector.findAllIn(decoded, 0, length),
          detector.workDone,
        ]);
        expect(isClean).toBe(findings.length === 0 && length > MAX_CLEAN_UNITS);
        if (isClean) expect(steps).toBe(expectedSteps);
        if (!isClean) expect(steps).toBe(0);
      }),
      { numRuns: runs({ short: 400, long: 2000 }) },
    );
  });
});
