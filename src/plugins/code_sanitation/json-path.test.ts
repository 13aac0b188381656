// Tests of the path of a finding.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { pathAt } from "./json-path.ts";

const pathOf = (text: string) => pathAt(text, text.indexOf('"!') + 1);

test.each([
  ['"!"', ""],
  ['["!"]', "[0]"],
  ['{"messages":[1,{"a":[2,3]},{"role":"user","content":"!"}]}', "messages[2].content"],
  ['{"a":{"b":[[],[{},"!"]]}}', "a.b[1][1]"],
  ['{"a":{"!":1}}', "a.*"],
  ['{"a":{"not for the log":"!"}}', "a.*"],
  [`{"${"k".repeat(33)}":"!"}`, "*"],
  ['{"a":"\\"],[","b":"!"}', "b"],
])("the path in %s is %s", (text, path) => {
  expect(pathOf(text)).toBe(path);
});

test("the middle of a long path is left out", () => {
  const path = pathOf(`{"a":${"[".repeat(30)}{"z":"!"}${"]".repeat(30)}}`);
  expect(path).toBe(`a${"[0]".repeat(5)}.…${"[0]".repeat(5)}.z`);
});

test("leads to the string, for any JSON", () => {
  const key = fc.constantFrom("a", "b", "c_d");
  const { any } = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 4 },
      fc.string(),
      fc.integer(),
      fc.array(tie("any"), { maxLength: 4 }),
      fc.dictionary(key, tie("any"), { maxKeys: 3 }),
    ),
  }));
  fc.assert(
    fc.property(fc.array(any), fc.array(any), fc.constantFrom(0, 1), (before, after, indent) => {
      const text = JSON.stringify({ x: [...before, { y: [...before, "!marked"] }, ...after] }, null, indent);
      expect(pathAt(text, text.lastIndexOf('"!marked') + 1)).toBe(`x[${before.length}].y[${before.length}]`);
    }),
  );
});
