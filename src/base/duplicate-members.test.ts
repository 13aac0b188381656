// Objects with a member twice.
import { expect, test } from "bun:test";
import { hasDuplicateMembers } from "./duplicate-members.ts";

test.each([
  ['{"a":1,"a":2}', true],
  ['{"a":1,"\\u0061":2}', true],
  ['[{"x":[{"b":{"c":"","d":0,"c":""}}]}]', true],
  ['{"a":{"b":1},"b":{"a":1}}', false],
  ['{"a":"\\":{\\"a\\":1,\\"a\\":2}","b\\\\":[":",": :"]}', false],
  ['{"__proto__":1,"constructor":{"__proto__":2}}', false],
  ['{"__proto__":1,"__proto__":2}', true],
  ["{}", false],
  ['"a:b"', false],
  ["[1,null,true]", false],
])("%s: %p", (text, expected) => {
  expect(hasDuplicateMembers(text, JSON.parse(text))).toBe(expected);
});
