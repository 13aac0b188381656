import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { ModelAllowList } from "./model-allow-list.ts";

test("allows exactly what one of the patterns matches", () => {
  const name = fc.string({ unit: fc.constantFrom("a", "A", "b", "-", "*"), maxLength: 4 });
  const pattern = fc.tuple(name, fc.boolean()).map(([text, isPrefix]) => text + (isPrefix ? "*" : ""));
  fc.assert(
    fc.property(fc.array(pattern, { maxLength: 4 }), name, (patterns, model) => {
      const isMatch = (each: string) =>
        each.at(-1) === "*" ? model.indexOf(each.slice(0, -1)) === 0 : model === each;
      expect(new ModelAllowList(patterns).allows(model)).toBe(patterns.some(isMatch));
    }),
  );
});
