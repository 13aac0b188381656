import { expect, test } from "bun:test";
import { isLargeBody, LARGE_BODY_BYTES } from "./large-body.ts";

const listOf = (values: number, value: string) => Buffer.from(`[${Array(values).fill(value).join(",")}]`);

test("a body is large if it has many bytes or many values", () => {
  expect(isLargeBody(Buffer.alloc(LARGE_BODY_BYTES + 1, "a"))).toBe(true);
  expect(isLargeBody(Buffer.alloc(LARGE_BODY_BYTES, "a"))).toBe(false);
  for (const value of ['"a"', "[]", "{}", '{"a":1}', "1"]) {
    expect(isLargeBody(listOf(10_000, value))).toBe(true);
    expect(isLargeBody(listOf(1000, value))).toBe(false);
  }
});

test("commas and brackets in a text are no values", () => {
  expect(isLargeBody(Buffer.from(JSON.stringify({ text: "[a, {b}, ".repeat(20_000) })))).toBe(false);
});

test("forms and lines of JSON may have many values, too", () => {
  expect(isLargeBody(Buffer.from("a=1&".repeat(5000)))).toBe(true);
  expect(isLargeBody(Buffer.from('{"a":[1,2,3]}\n'.repeat(2000)))).toBe(true);
  expect(isLargeBody(Buffer.from('{"a":[1,2,3]}\n'.repeat(900)))).toBe(false);
  expect(isLargeBody(Buffer.from("Good morning\n".repeat(15_000)))).toBe(false);
});
