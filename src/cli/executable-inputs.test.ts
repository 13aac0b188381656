// Whether the files that an executable was built from have changed.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { areUnchanged, describeInputs, type ExecutableInputs } from "./executable-inputs.ts";

let folder: string;
let inputs: ExecutableInputs;
const first = () => join(folder, "first.ts");

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "gatehouse-inputs-"));
  writeFileSync(first(), "export const one = 1;");
  writeFileSync(join(folder, "second.ts"), "export const two = 2;");
  inputs = describeInputs(folder, ["first.ts", "second.ts"]);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("files that nothing has written to are unchanged", () => {
  expect(areUnchanged(folder, inputs)).toBe(true);
});

test("a file with other content is changed, also if it has the size and the modification time of the one before", () => {
  // Whole seconds: fractions of a millisecond cannot be set.
  utimesSync(first(), 1, 1);
  inputs = describeInputs(folder, ["first.ts"]);
  writeFileSync(first(), "export const one = 7;");
  utimesSync(first(), 1, 1);
  expect(areUnchanged(folder, inputs)).toBe(false);
});

test("a file that was written again with the same content is unchanged", () => {
  const content = readFileSync(first());
  rmSync(first());
  writeFileSync(first(), content);
  utimesSync(first(), 1, 1);
  expect(areUnchanged(folder, inputs)).toBe(true);
});

test("a removed file is changed", () => {
  rmSync(first());
  expect(areUnchanged(folder, inputs)).toBe(false);
});
