// The values that placeholders represent, compared with a map.
import { expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import fc from "fast-check";
import { MaskedValues, valueTable } from "./masked-values.ts";
import { numbersOfValues } from "./numbers-of-values.ts";
import { Placeholders } from "./placeholders.ts";

const type = fc.constantFrom("email", "ip", "badge_2");
const KEY = "k".repeat(43);
const EMAIL = `<EMAIL_${numbersOfValues(KEY)("email", "a", 0)}>`;
const reserved = fc.oneof(
  fc.tuple(type, fc.nat(6)).map(([name, number]) => `<${name.toUpperCase()}_${number}>`),
  fc.constant(EMAIL),
);
const values = fc.array(fc.tuple(type, fc.string({ minLength: 1, maxLength: 3, unit: "binary" })), {
  maxLength: 20,
});

test.each([null, KEY])(
  "every placeholder has its value, in another thread too, and others have none; key %s",
  (key) => {
    fc.assert(
      fc.property(values, fc.array(reserved, { maxLength: 4 }), (given, literals) => {
        const placeholders = new Placeholders(key);
        placeholders.reserve(literals.join(" "));
        const all = [["email", "a"] as const, ...given];
        const expected = new Map(all.map(([name, value]) => [placeholders.for(name, value), value]));
        expect(expected.size).toBe(new Set(all.map((pair) => JSON.stringify(pair))).size);
        const masked = new MaskedValues(structuredClone(new MaskedValues([placeholders.takeValues()!]).data));
        for (const [placeholder, value] of expected) expect(masked.get(placeholder)).toBe(value);
        for (const literal of literals) expect(masked.get(literal)).toBeUndefined();
        for (const other of [
          "<EMAIL_0>",
          "<EMAIL_01>",
          "<EMAIL_>",
          "<EMAIL_25>",
          "<_1>",
          "<1>",
          "<EMAIL_1e0>",
        ])
          expect(masked.get(other)).toBeUndefined();
      }),
    );
  },
);

test("numbers with a key are those of HMAC-SHA-256, and depend on type, value and attempt", () => {
  const numberOf = numbersOfValues(KEY);
  const value = "\ud83d\ude00";
  const digest = createHmac("sha256", KEY)
    .update(JSON.stringify(["email", value, 0]))
    .digest();
  const halves = [1_000_000_000 + digest.readUInt32BE(0), String(digest.readUInt32BE(4)).padStart(10, "0")];
  expect(numberOf("email", value, 0)).toBe(halves.join(""));
  const given = [
    ["email", "a", 0],
    ["ip", "a", 0],
    ["email", "b", 0],
    ["email", "a", 1],
    ["email", "\ud83d", 0],
    ["email", "\ude00", 0],
  ] as const;
  const numbers = given.map(([type, text, attempt]) => numberOf(type, text, attempt));
  numbers.push(numbersOfValues("other")("email", "a", 0));
  expect(new Set(numbers).size).toBe(numbers.length);
  for (const number of numbers) expect(number).toMatch(/^\d{20}$/);
});

test("a value whose number is taken has the next one", () => {
  const placeholders = new Placeholders(KEY);
  placeholders.reserve(EMAIL);
  expect(placeholders.for("email", "a")).toBe(`<EMAIL_${numbersOfValues(KEY)("email", "a", 1)}>`);
});

test("values of responses to questions are added, and a placeholder with two values is not restored", () => {
  const tableOf = (entries: Record<string, string>) => valueTable(new Map(Object.entries(entries)));
  const masked = new MaskedValues([tableOf({ "<A_1>": "a", "<A_2>": "b", "<A_3>": "<A_3>" })])
    .with(tableOf({ "<A_1>": "a", "<A_2>": "other", "<A_3>": "c", "<A_4>": "d", "<A_5>": "e" }))
    .with(tableOf({ "<A_4>": "d", "<A_5>": "<A_5>", "<A_6>": "f" }));
  const restored = [1, 2, 3, 4, 5, 6].map((number) => masked.get(`<A_${number}>`));
  expect(restored).toEqual(["a", undefined, undefined, "d", undefined, "f"]);
});

test("values of responses to questions are added up to 256 kB", () => {
  const table = (number: number, length: number) =>
    valueTable(new Map([[`<A_${number}>`, "x".repeat(length)]]));
  let masked = new MaskedValues([table(1, 1_000_000)]);
  for (const [number, length] of [
    [2, 200_000],
    [3, 100_000],
    [4, 10],
  ] as const)
    masked = masked.with(table(number, length));
  expect([1, 2, 3, 4].map((number) => masked.get(`<A_${number}>`)?.length)).toEqual([
    1_000_000,
    200_000,
    undefined,
    10,
  ]);
});
