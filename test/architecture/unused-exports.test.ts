// Every export is imported somewhere else, and the check detects planted ones.
import { Glob } from "bun";
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findUnusedExports } from "./unused-exports.ts";

const ROOT = join(import.meta.dir, "../..");
const FOLDERS = ["src", "console", "test", "bench", "scripts", "plugins"];

/** What package.json exports to plugin authors. */
const ENTRIES = new Set(["src/sdk/index.ts", "src/sdk/testing.ts"]);

test("no export is unused", () => {
  const files = new Map(
    FOLDERS.flatMap((folder) =>
      [...new Glob("**/*.{ts,tsx}").scanSync(join(ROOT, folder))]
        .filter((file) => !file.includes("node_modules/"))
        .map((file): [string, string] => [
          `${folder}/${file}`,
          readFileSync(join(ROOT, folder, file), "utf8"),
        ]),
    ),
  );
  expect(files.size).toBeGreaterThan(500);
  expect(findUnusedExports(files, ENTRIES)).toEqual([]);
}, 60_000);

test.each([
  ["a function", "export function unused() {}", ["a.ts:1 unused"]],
  ["a constant", "export const unused = 1, used = 2;", ["a.ts:1 unused"]],
  ["a type", "export type unused = string;\nexport interface used {}", ["a.ts:1 unused"]],
  ["a class", "export class unused {}", ["a.ts:1 unused"]],
  ["none", "export const used = 1;", []],
  ["none in a template literal", "export const used = `\nexport const unused = 1;\n`;", []],
  ["none in a generated file", "// Generated\nexport const unused = 1;", []],
])("planted: %s", (_, text, expected) => {
  const files = new Map([
    ["a.ts", text],
    ["b.ts", 'import { used as local } from "./a.ts";'],
  ]);
  expect(findUnusedExports(files, new Set())).toEqual(expected);
});

test.each([
  ['import * as a from "./a.ts";'],
  ['export * from "./a.ts";'],
  ['const a = await import("./a.ts");'],
  ['type A = import("./a.ts").A;'],
  ['export { A } from "./a.ts";'],
  ['import {\n  other,\n  type A as B,\n} from "./a.ts";'],
  ['import "./a.ts";'],
])("used by %s", (text) => {
  const files = new Map([
    ["a.ts", "export class A {}"],
    ["b.ts", text],
  ]);
  expect(findUnusedExports(files, new Set())).toEqual([]);
});
