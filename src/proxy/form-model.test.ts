// The model in a multipart form is replaced at its place, and all other bytes stay as they were.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../../test/support/long-form.ts";
import { fieldsInForm, withFormModel } from "./form-model.ts";
import { grapheme } from "../../test/support/characters.ts";

const TYPE = "multipart/form-data; boundary=b0undary";
const DELIMITER = "--b0undary";

interface Part {
  readonly head: string;
  readonly content: Uint8Array;
}

const build = (parts: readonly Part[]) =>
  Buffer.concat([
    ...parts.flatMap(({ head, content }) => [
      Buffer.from(`${DELIMITER}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`),
      content,
      Buffer.from("\r\n"),
    ]),
    Buffer.from(`${DELIMITER}--\r\n`),
  ]);

const modelName = fc.string({ unit: grapheme, minLength: 1, maxLength: 40 }).filter((name) => {
  return !/[\r\n]/.test(name) && !name.includes(DELIMITER) && name.isWellFormed();
});
const file = fc
  .uint8Array({ maxLength: 200 })
  .filter((bytes) => !Buffer.from(bytes).includes(DELIMITER))
  .map((content): Part => ({ head: 'name="file"; filename="a.wav"', content }));

test("the form with another model is the one that a client with that model would have sent", () => {
  const inputs = fc.property(
    modelName,
    modelName,
    fc.array(file, { maxLength: 3 }),
    fc.array(file, { maxLength: 3 }),
    (before, after, first, last) => {
      const withModel = (model: string) =>
        build([...first, { head: 'name="model"', content: Buffer.from(model) }, ...last]);
      const found = fieldsInForm(withModel(before), TYPE);
      if (typeof found === "string" || found.formModel === null) throw new Error("no model found");
      expect(found.model).toBe(before);
      const replaced = withFormModel(withModel(before), TYPE, found.formModel, after);
      expect(Buffer.from(replaced).equals(withModel(after))).toBe(true);
    },
  );
  fc.assert(inputs, { numRuns: runs({ short: 100, long: 5000 }) });
});

test("a model that contains the boundary is rejected", () => {
  const form = build([{ head: 'name="model"', content: Buffer.from("a") }]);
  const found = fieldsInForm(form, TYPE);
  if (typeof found === "string" || found.formModel === null) throw new Error("no model found");
  const { formModel } = found;
  expect(() => withFormModel(form, TYPE, formModel, `x${DELIMITER}`)).toThrow("boundary");
});

test("a form without a model has no place for one", () => {
  const form = build([{ head: 'name="file"; filename="model"', content: Buffer.from("a") }]);
  expect(fieldsInForm(form, TYPE)).toMatchObject({ model: null, formModel: null });
});

test("more parts than servers accept are not searched", () => {
  const model: Part = { head: 'name="model"', content: Buffer.from("m") };
  const field: Part = { head: 'name="field"', content: Buffer.from("1") };
  const form = (count: number) => build([...Array.from({ length: count - 1 }, () => field), model]);
  expect(fieldsInForm(form(2000), TYPE)).toMatchObject({ model: "m" });
  expect(fieldsInForm(form(2001), TYPE)).toBe("too_many_parts");
});

test.each([
  [['name="n"', "10"], 10, null],
  [["name=n", " 3 "], 3, null],
  [['name="N"', "4"], 4, null],
  [['name="%6e"', "5"], 5, null],
  [['name="n"; filename="n.txt"', "6"], 6, null],
  [['name="n"', "0"], 1, null],
  [['name="n"', "ten 10"], 100_000_000, null],
  [['name="n"', "9".repeat(5000)], 100_000_000, null],
  [['name="n"', "2", 'name="n"', "8"], 8, "n"],
  [['name="n"', "8", 'name="N"', "2"], 8, "n"],
  [['name="size"', "a", 'name="size"', "b"], 1, "size"],
  [['name="quality"', "a", 'name="quality"', "b"], 1, "quality"],
  [['name="image[]"', "a", 'name="image[]"', "b"], 1, null],
] as const)("the ledger reads in the form %p %p choices, repeated: %p", (texts, choices, repeated) => {
  const parts = texts.flatMap((head, at) =>
    at % 2 === 0 ? [{ head, content: Buffer.from(texts[at + 1] ?? "") }] : [],
  );
  const modelProblem = repeated === null ? null : { message: expect.stringContaining(`"${repeated}" twice`) };
  expect(fieldsInForm(build(parts), TYPE)).toMatchObject({ generation: { choices }, modelProblem });
});
