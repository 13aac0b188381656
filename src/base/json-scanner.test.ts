// The scanner accepts exactly what the runtime's own parser accepts, and locates the values that it would return.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { foldCase } from "./fold-case.ts";
import { isJsonObject } from "./json.ts";
import { JsonScanner } from "./json-scanner.ts";
import { createSimdTexts, windowBytesOf } from "./json-string-end-simd.ts";
import { wordTextOf } from "./json-string-end-words.ts";
import { grapheme } from "../../test/support/characters.ts";
import { runs } from "../../test/support/long-form.ts";

const NAMES = ["model", "stream", "messages"];
const decoder = new TextDecoder("utf-8", { fatal: true });

/** The oracle: strict UTF-8, then JSON.parse. */
function parse(bytes: Uint8Array): { value: unknown } | null {
  try {
    return { value: JSON.parse(decoder.decode(bytes)) };
  } catch {
    return null;
  }
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
  fc.constantFrom(
    ...NAMES,
    "Model",
    "STREAM",
    "mode",
    "me\u017f\u017fages",
    "\u017ftream",
    "\\u017ftream",
    "m\\u006fdel",
    "\\u004dodel",
  ),
  fc.string(),
);
const document = fc.oneof(
  fc.json(),
  fc.json({ stringUnit: grapheme }),
  fc
    .array(fc.tuple(fieldName, fc.json()), { maxLength: 6 })
    .map((fields) => `{${fields.map(([name, json]) => `${quoted(name)} : ${json}`).join(" ,\n\t")}}`),
);

/** Keeps the escapes of the names above as they are. */
function quoted(name: string): string {
  return name.includes("\\u006f") ? `"${name}"` : JSON.stringify(name);
}

/** Fewer than in use, so that short texts have several windows. */
const PAGES = 2;
const WINDOW_BYTES = windowBytesOf(PAGES);
const simdTextOf = createSimdTexts(PAGES)?.textOf ?? wordTextOf;

test("WebAssembly with SIMD is available, so both implementations are tested", () => {
  expect(simdTextOf).not.toBe(wordTextOf);
});

describe.each([
  ["with SIMD", simdTextOf],
  ["with words of four bytes", wordTextOf],
])("a scanner %s", (_, textOf) => {
  const scanner = new JsonScanner(NAMES, { textOf });

  function scannedFields(bytes: Uint8Array): Record<string, unknown> {
    const fields: Record<string, unknown> = {};
    for (const [index, name] of NAMES.entries()) {
      const start = scanner.startOf(index);
      if (start >= 0) fields[name] = JSON.parse(decoder.decode(bytes.subarray(start, scanner.endOf(index))));
    }
    return fields;
  }

  /** Also in arrays: other code reads what is in the outermost value. */
  function expectSameAsParser(bytes: Uint8Array): void {
    expectSame(bytes);
    expectSame(Buffer.concat([Buffer.from("[ ["), bytes, Buffer.from("] ]")]));
  }

  function expectSame(bytes: Uint8Array): void {
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
    const variant = keys.find((key) => !NAMES.includes(key) && NAMES.includes(foldCase(key)));
    expect(scanner.variant).toBe(variant === undefined ? null : foldCase(variant));
  }

  describe("agrees with JSON.parse", () => {
    test("on valid documents", () => {
      fc.assert(
        fc.property(document, (text) => {
          atEachAlignment(Buffer.from(text), expectSameAsParser);
        }),
        { numRuns: runs({ short: 200, long: 1000 }) },
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
        { numRuns: runs({ short: 1000, long: 5000 }) },
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
        { numRuns: runs({ short: 1000, long: 5000 }) },
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
      expect(scanner.duplicate !== null).toBe(expected);
    });
  });

  test("a text nested more than 512 levels deep is reported as such", () => {
    const nested = (depth: number) => Buffer.from("[".repeat(depth) + "]".repeat(depth));
    expect(scanner.scan(nested(512))).toBe("other");
    expect(scanner.scan(nested(513))).toBe("too_deep");
    expect(scanner.scan(nested(1_000_000))).toBe("too_deep");
    expect(scanner.scan(Buffer.concat([nested(513), Buffer.from([0xff])]))).toBe("invalid");
  });

  describe("agrees with JSON.parse on long strings", () => {
    const piece = fc.constantFrom(
      ...Array.from("anué /"),
      ...["\\n", "\\\\", '\\"', "\\/", "\\u12aF", "\\u00e9", "\\t", "x".repeat(61), "{}[],:"],
    );
    const badPiece = fc.constantFrom("\\u12g4", "\\x", "\u0001", "\n", "\\", '"', "\\u", "\\u123");
    const content = fc.oneof(
      fc.array(piece, { maxLength: 60 }),
      fc.array(fc.oneof({ weight: 30, arbitrary: piece }, badPiece), { maxLength: 60 }),
    );

    test("with escapes at any place in a block", () => {
      fc.assert(
        fc.property(content, content, (first, second) =>
          expectSameAsParser(Buffer.from(`{"model":"${first.join("")}","stream":"${second.join("")}"}`)),
        ),
        { numRuns: runs({ short: 600, long: 3000 }) },
      );
    });

    test("that cross the windows of a long text", () => {
      const filler = fc.constantFrom("x", "\\\\", '\\"', "\\u12aF", '","');
      const length = fc.oneof(
        fc.integer({ min: WINDOW_BYTES - 300, max: WINDOW_BYTES + 300 }),
        fc.integer({ min: 0, max: 3 * WINDOW_BYTES }),
      );
      fc.assert(
        fc.property(filler, length, content, content, (unit, bytes, first, second) => {
          const long = unit.repeat(bytes / unit.length);
          const text = `["${first.join("")}${long}${second.join("")}","${long}${first.join("")}"]`;
          expectSameAsParser(Buffer.from(text));
        }),
        { numRuns: runs({ short: 30, long: 100 }) },
      );
    });

    test("with bytes that are no ASCII at any place", () => {
      const size = fc.oneof(
        fc.nat(70),
        fc.nat(300),
        fc.integer({ min: WINDOW_BYTES - 200, max: WINDOW_BYTES + 200 }),
      );
      const bytes = fc.constantFrom(
        [0xff],
        [0xc3],
        [0xc3, 0xa9],
        [0xe2, 0x82],
        [0xe2, 0x82, 0xac],
        [0xed, 0xa0, 0x80],
      );
      const special = fc.constantFrom("", "\\n", "\\u00e9", '","', "\\\\");
      fc.assert(
        fc.property(
          size,
          fc.nat(),
          bytes,
          special,
          fc.boolean(),
          (length, place, inserted, escape, isKey) => {
            const filler = "x".repeat(length);
            const [start, end] = isKey ? ['{"', '":"y"}'] : ['["', '"]'];
            const text = Buffer.from(`${start}${filler}${isKey ? "" : escape}${filler}${end}`);
            const at = start.length + (place % (text.length - start.length - end.length + 1));
            expectSameAsParser(
              Buffer.concat([text.subarray(0, at), Buffer.from(inserted), text.subarray(at)]),
            );
          },
        ),
        { numRuns: runs({ short: 200, long: 1000 }) },
      );
    });

    test("with every byte after a backslash and in place of each hexadecimal digit", () => {
      for (let byte = 0; byte < 0x80; byte++) {
        const character = String.fromCharCode(byte);
        for (const place of [0, 30, 61, 62, 63, 64]) {
          const before = "x".repeat(place);
          expectSameAsParser(Buffer.from(`"${before}\\${character}"`));
          for (const digit of [0, 1, 2, 3])
            expectSameAsParser(
              Buffer.from(`"${before}\\u${"a".repeat(digit)}${character}${"9".repeat(3 - digit)}"`),
            );
        }
      }
    });
  });

  test("bytes of an earlier, longer text are not read as part of a text that is cut off", () => {
    for (const unit of ["x", "\\n", "\\\\", "\\u12aF", '\\"']) {
      const whole = Buffer.from(`["${unit.repeat(50)}","${unit.repeat(50)}"]`);
      for (let length = 0; length < whole.length; length++) {
        expect(scanner.scan(whole)).toBe("other");
        expect(scanner.scan(whole.subarray(0, length))).toBe("invalid");
      }
    }
  });

  test("bytes of an earlier window are not read as part of a text that is cut off", () => {
    const whole = Buffer.from(`"${"x".repeat(2 * WINDOW_BYTES - 60)}\\u12aF\\n${"x".repeat(100)}"`);
    for (let length = whole.length - 130; length < whole.length; length++)
      expect(scanner.scan(whole.subarray(0, length))).toBe("invalid");
    expect(scanner.scan(whole)).toBe("other");
  });
});

describe("suffixes of keys", () => {
  const SUFFIXES = ["_id", "_ids", "_file"];
  const scanner = new JsonScanner(NAMES, { keySuffixes: SUFFIXES });

  function keysIn(value: unknown): string[] {
    if (Array.isArray(value)) return value.flatMap(keysIn);
    if (!isJsonObject(value)) return [];
    return [...Object.keys(value), ...Object.values(value).flatMap(keysIn)];
  }

  const key = fc.oneof(
    fc.constantFrom("file_id", "file_ids", "training_file", "_id", "id", "file_idx", "is", "e", ""),
    fc.string(),
    fc.string({ unit: grapheme }),
    fc.constantFrom(..."\u0000\u001fé_".split("")).map((unit) => `${unit}file_id`),
    fc.tuple(fc.nat(40), fc.constantFrom(...SUFFIXES, "")).map(([n, end]) => "x".repeat(n) + end),
  );
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom("file_id", 1, null, "a text with file_id and _ids"),
      fc.array(tie("tree"), { maxLength: 4 }),
      fc
        .array(fc.tuple(key, tie("tree")), { maxLength: 4 })
        .map((fields): unknown => Object.fromEntries(fields)),
    ),
  }));

  test("a key with a suffix is found at any depth, and no text without one is reported", () => {
    const isPlain = (name: string) => Buffer.byteLength(name) < 24 && JSON.stringify(name) === `"${name}"`;
    fc.assert(
      fc.property(tree, (value) => {
        scanner.scan(Buffer.from(JSON.stringify(value)));
        const keys = keysIn(value);
        const hasSuffix = keys.some((name) => SUFFIXES.some((suffix) => name.endsWith(suffix)));
        if (hasSuffix) expect(scanner.mayHaveSuffixes).toBe(true);
        else if (keys.every(isPlain)) expect(scanner.mayHaveSuffixes).toBe(false);
      }),
      { numRuns: runs({ short: 600, long: 3000 }) },
    );
  });

  test("a key that is spelled with escapes is reported", () => {
    scanner.scan(Buffer.from('{"a":[{"file_\\u0069d":1}]}'));
    expect(scanner.mayHaveSuffixes).toBe(true);
    scanner.scan(Buffer.from('{"a":[{"file":"_id"}]}'));
    expect(scanner.mayHaveSuffixes).toBe(false);
  });
});

describe("a limit of values", () => {
  const scanner = new JsonScanner(NAMES);

  test("ends the scan of a text with more values, not of one with long strings", () => {
    const numbers = (count: number) => Buffer.from(JSON.stringify(Array.from({ length: count }, () => 1)));
    // The array is a value itself.
    expect(scanner.scan(numbers(99), 100)).toBe("other");
    expect(scanner.scan(numbers(100), 100)).toBe("too_dense");
    expect(scanner.scan(numbers(100))).toBe("other");
    expect(scanner.scan(Buffer.from(JSON.stringify({ model: "x".repeat(100_000) })), 100)).toBe("object");
  });

  test("counts empty objects, and keys with escapes more than others", () => {
    const scan = (text: string) => scanner.scan(Buffer.from(text), 100);
    expect(scan(`[${"{},".repeat(200)}{}]`)).toBe("too_dense");
    // Five values at the start, one for each number, and one at the end.
    for (const [count, result] of [
      [94, "object"],
      [95, "too_dense"],
    ] as const)
      expect(scan(`{"a":[[{"b":{}}],${"1,".repeat(count - 1)}2],"c":"d"}`)).toBe(result);
    expect(scan(`{${'"a":1,'.repeat(10)}"b":1}`)).toBe("object");
    expect(scan(`{${'"\\u0061":1,'.repeat(10)}"b":1}`)).toBe("too_dense");
  });
});

test("the memory of the module grows for the first text that does not fit", () => {
  const textOf = createSimdTexts(2, 1)?.textOf ?? wordTextOf;
  const scanner = new JsonScanner(NAMES, { textOf });
  for (const length of [10, windowBytesOf(1) - 20, windowBytesOf(1) + 20, 10, 3 * windowBytesOf(2), 100]) {
    const long = "x".repeat(length);
    const body = Buffer.from(JSON.stringify({ other: long, model: "a" }));
    expect(scanner.scan(body)).toBe("object");
    expect(textOf(body).endOfString(body.indexOf(long))).toBe(body.indexOf(long) + length + 1);
    // A view of the memory before it grew has no bytes.
    expect(textOf(body).bytes[0]).toBe(0x7b);
  }
});

test("where the runtime has no SIMD, texts are scanned all the same", () => {
  const script = `
    const { createSimdTexts } = await import("./json-string-end-simd.ts");
    const { JsonScanner } = await import("./json-scanner.ts");
    const body = Buffer.from(JSON.stringify({ model: "x".repeat(100) }));
    console.log(createSimdTexts(), new JsonScanner(["model"]).scan(body));`;
  const { stdout } = Bun.spawnSync([process.execPath, "-e", script], {
    cwd: import.meta.dir,
    env: { ...process.env, BUN_JSC_useWasmSIMD: "0" },
  });
  expect(stdout.toString()).toBe("null object\n");
});
