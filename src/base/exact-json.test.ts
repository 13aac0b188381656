import { describe, expect, test } from "bun:test";
import { parseExact, stringifyExact } from "./exact-json.ts";

function roundTrip(text: string): string {
  return stringifyExact({ params: parseExact(text) });
}

describe("numbers are written as they were read", () => {
  test.each([
    "12345678901234567890",
    "-9007199254740993",
    "0.12345678901234567890",
    "1e400",
    "-1E-400",
    "1.000000000000000000",
    "[[[[[[18446744073709551615]]]]]]",
    '{"a":{"b":[1,{"c":9223372036854775807}]},"d":9223372036854775806}',
    '{"__proto__":{"id":9223372036854775807}}',
  ])("%s", (text) => {
    expect(roundTrip(`[${text}]`)).toBe(`{"params":[${text}]}`);
  });
});

test("values are those of JSON.parse", () => {
  const text = '{"a":12345678901234567890,"b":[1e400,-0,"12345678901234567890"]}';
  expect(parseExact(text)).toEqual(JSON.parse(text));
});

test("a copy keeps the numbers of its members", () => {
  const params = parseExact('{"name":"a","arguments":{"id":9223372036854775807}}') as object;
  expect(stringifyExact({ id: 1, params: { ...params, name: "b" } })).toBe(
    '{"id":1,"params":{"name":"b","arguments":{"id":9223372036854775807}}}',
  );
});

test("a number that was replaced is written as it is now", () => {
  const parsed = parseExact('{"id":9223372036854775807,"other":9223372036854775807}') as { id: number };
  parsed.id = 5;
  expect(stringifyExact(parsed)).toBe('{"id":5,"other":9223372036854775807}');
});

test("texts and invalid JSON are left alone", () => {
  expect(roundTrip('["12345678901234567890"]')).toBe('{"params":["12345678901234567890"]}');
  expect(() => parseExact("[12345678901234567890")).toThrow(SyntaxError);
});
