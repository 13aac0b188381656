// The scanner accepts exactly what the runtime's own parser accepts, and locates the values that it would return.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isJsonObject } from "./json.ts";
import { JsonScanner } from "./json-scanner.ts";

const NAMES = ["model", "stream", "messages"];
const scanner = new JsonScanner(NAMES);
const decoder = new TextDecoder("utf-8", { fatal: true });

/** The oracle: strict UTF-8, then JSON.parse. */
function parse(bytes: Uint8Array): { value: unknown } | null {
  try {
    return { value: JSON.parse(decoder.decode(bytes)) };
  } catch {
    return null;
  }
}

function scannedFields(bytes: Uint8Array): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [index, name] of NAMES.entries()) {
    const start = scanner.startOf(index);
    if (start >= 0) fields[name] = JSON.parse(decoder.decode(bytes.subarray(start, scanner.endOf(index))));
  }
  return fields;
}

function expectSameAsParser(bytes: Uint8Array): void {
  const result = scanner.scan(bytes);
  const parsed = parse(bytes);
  if (parsed === null) {
    expect(result).toBe("invalid");
    return;
  }
  expect(result).toBe(isJsonObject(parsed.value) ? "object" : "other");
  const { value } = parsed;
  const expected = isJsonObject(value)
    ? Object.fromEntries(
        NAMES.filter((name) => Object.hasOwn(value, name)).map((name) => [name, value[name]]),
      )
    : {};
  expect(scannedFields(bytes)).toEqual(expected);
  const keys = isJsonObject(value) ? Object.keys(value) : [];
  const variants = keys.filter((key) => !NAMES.includes(key) && NAMES.includes(key.toLowerCase()));
  expect(scanner.hasVariants).toBe(variants.length > 0);
}

/** The same bytes at each alignment, because the scanner reads words of four bytes. */
function atEachAlignment(bytes: Uint8Array, check: (bytes: Uint8Array) => void): void {
  for (let offset = 0; offset < 4; offset++) {
    const padded = new Uint8Array(bytes.length + 4);
    padded.set(bytes, offset);
    check(padded.subarray(offset, offset + bytes.length));
  }
}

const fieldName = fc.oneof(
  fc.constantFrom(...NAMES, "Model", "mode", "m\\u006fdel", "\\u004dodel"),
  fc.string(),
);
const document = fc.oneof(
  fc.json(),
  fc.json({ stringUnit: "grapheme" }),
  fc
    .array(fc.tuple(fieldName, fc.json()), { maxLength: 6 })
    .map((fields) => `{${fields.map(([name, json]) => `${quoted(name)} : ${json}`).join(" ,\n\t")}}`),
);

/** Keeps the escapes of the names above as they are. */
function quoted(name: string): string {
  return name.includes("\\u006f") ? `"${name}"` : JSON.stringify(name);
}

describe("agrees with JSON.parse", () => {
  test("on valid documents", () => {
    fc.assert(
      fc.property(document, (text) => {
        atEachAlignment(Buffer.from(text), expectSameAsParser);
      }),
      { numRuns: 1000 },
    );
  });

  test("on documents with a byte changed, inserted or cut off", () => {
    const edit = fc.record({
      at: fc.nat(),
      byte: fc.nat(255),
      kind: fc.constantFrom("set", "insert", "cut"),
    });
    fc.assert(
      fc.property(document, edit, (text, { at, byte, kind }) => {
        const bytes = [...Buffer.from(text)];
        const position = bytes.length === 0 ? 0 : at % bytes.length;
        if (kind === "cut") bytes.length = position;
        else bytes.splice(position, kind === "set" ? 1 : 0, byte);
        expectSameAsParser(new Uint8Array(bytes));
      }),
      { numRuns: 5000 },
    );
  });

  test("on texts made of JSON's own characters", () => {
    const token = fc.constantFrom(
      ...Array.from('{}[],:"\\ \n\t\r-+.eE0123456789tfnu'),
      "true",
      "false",
      "null",
      '"model"',
      "\u0001",
    );
    fc.assert(
      fc.property(fc.array(token, { maxLength: 20 }), (tokens) =>
        expectSameAsParser(Buffer.from(tokens.join(""))),
      ),
      { numRuns: 5000 },
    );
  });

  test.each([
    ["", "an empty text"],
    ["\uFEFF{}", "a byte order mark"],
    ["\uFEFF\uFEFF{}", "two byte order marks"],
    ['{"model":"a","model":"b"}', "a duplicate field"],
    ['"\\ud800"', "an escaped lone surrogate"],
    ['"\\u12G4"', "a bad escape"],
    ['"tab\tinside"', "a control character in a string"],
    ["01", "a leading zero"],
    ["-", "a lone minus"],
    ["1.e5", "a fraction without digits"],
    ["{} {}", "two values"],
    ["[1,]", "a trailing comma"],
    ['{"a":1,}', "a trailing comma in an object"],
    ["\u00A0{}", "a no-break space"],
    ["{\u000B}", "a vertical tab"],
  ])("on %j: %s", (text) => {
    atEachAlignment(Buffer.from(text), expectSameAsParser);
  });

  test("on bytes that are not UTF-8", () => {
    for (const bytes of [[0xff], [0x22, 0xc3, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22]])
      expectSameAsParser(new Uint8Array(bytes));
  });
});

describe("duplicates of a watched field", () => {
  test.each([
    ['{"model":1,"x":{"model":2},"model":3}', true],
    ['{"model":1,"m\\u006fdel":3}', true],
    ['{"model":1,"x":{"model":2,"model":3},"other":1,"other":2}', false],
    ['{"model":1,"Model":2}', false],
  ])("%s: %p", (text, expected) => {
    expect(scanner.scan(Buffer.from(text))).toBe("object");
    expect(scanner.hasDuplicates).toBe(expected);
  });
});

test("a text nested more than 512 levels deep is reported as such", () => {
  const nested = (depth: number) => Buffer.from("[".repeat(depth) + "]".repeat(depth));
  expect(scanner.scan(nested(512))).toBe("other");
  expect(scanner.scan(nested(513))).toBe("too_deep");
  expect(scanner.scan(nested(1_000_000))).toBe("too_deep");
});
