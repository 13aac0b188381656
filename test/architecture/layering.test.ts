// The house stands as ARCHITECTURE.md draws it, and the check that says so can fail.
import { Glob } from "bun";
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { knownProviders } from "../../src/providers/registry.ts";
import { findConsoleViolations, findViolations, RANKS } from "./layering.ts";

const ROOT = join(import.meta.dir, "../..");
const providerNames = knownProviders().map((provider) => provider.name);

function sourceTree(folder = "src"): Map<string, string> {
  const files = [...new Glob("**/*.{ts,tsx}").scanSync(join(ROOT, folder))].filter(
    (file) => !file.endsWith(".test.ts"),
  );
  return new Map(files.map((file) => [file, readFileSync(join(ROOT, folder, file), "utf8")]));
}

test("the source tree has no violation", () => {
  expect(findViolations(sourceTree(), providerNames)).toEqual([]);
});

test("the console has no violation", () => {
  const tree = sourceTree("console");
  expect([...tree.keys()]).toContain("main.tsx");
  expect(findConsoleViolations(tree)).toEqual([]);
});

test.each([
  ["a way into src", 'import { x } from "../../src/base/ids.ts";', /not the console's/],
  ["the same, as a type", 'import type { X } from "../../src/model/rule.ts";', /not the console's/],
  ["a package of the server", 'import { z } from "zod";', /not the console's/],
  ["a default export", "export default 1;", /default export/],
])("planted in the console, %s is found", (_, text, expected) => {
  const tree = new Map([["pages/x.tsx", `// Planted.\n${text}\n`]]);
  expect(findConsoleViolations(tree).join("\n")).toMatch(expected);
});

test("the tree was really read: most folders are there, with imports between them", () => {
  const folders = new Set([...sourceTree().keys()].map((file) => file.split("/")[0] ?? ""));
  for (const folder of ["admin", "base", "cli", "main.ts", "model", "proxy", "snapshot", "store"])
    expect(folders).toContain(folder);
  for (const folder of folders) expect(Object.keys(RANKS)).toContain(folder);
});

describe("a planted violation is found", () => {
  const planted: [what: string, file: string, text: string, expected: RegExp][] = [
    [
      "a higher rank",
      "model/rule.ts",
      'import { x } from "../store/store.ts";',
      /rank 1 may only import lower ranks, not 3/,
    ],
    ["an equal rank", "model/rule.ts", 'import type { x } from "../telemetry/log.ts";', /rank 1 .* not 1/],
    [
      "an equal rank, re-exported",
      "admin/api.ts",
      'export { x } from "../proxy/server.ts";',
      /rank 5 .* not 5/,
    ],
    [
      "a dynamic import upwards",
      "base/ids.ts",
      'const x = await import("../cli/main.ts");',
      /rank 0 .* not 7/,
    ],
    [
      "the store behind the data plane",
      "proxy/handle.ts",
      'import { x } from "../store/store.ts";',
      /never imports store/,
    ],
    [
      "a plugin with privileges",
      "plugins/rate_limiter/plugin.ts",
      'import { x } from "../../model/rule.ts";',
      /only sdk/,
    ],
    [
      "a plugin with packages of its own",
      "plugins/rate_limiter/plugin.ts",
      'import { z } from "zod";',
      /only sdk/,
    ],
    [
      "one plugin in another",
      "plugins/rate_limiter/plugin.ts",
      'import { x } from "../code_sanitation/plugin.ts";',
      /own folder/,
    ],
    [
      "a way out of src",
      "store/store.ts",
      'import { x } from "../../test/support/postgres.ts";',
      /outside of src/,
    ],
    ["a folder without a rank", "helpers/x.ts", 'import { x } from "../base/ids.ts";', /has no rank/],
    [
      "a provider's name",
      "proxy/attempt.ts",
      'if (target.provider === "groq") retry();',
      /names the provider "groq"/,
    ],
    ["a barrel", "model/index.ts", 'export * from "./rule.ts";', /barrel/],
    ["a default export", "model/rule.ts", "export default 1;", /default export/],
    ["no opening line", "model/rule.ts", "", /does not open/],
    ["a file too long", "model/rule.ts", "x\n".repeat(401), /lines/],
  ];
  for (const [what, file, text, expected] of planted) {
    test(what, () => {
      const source = what === "no opening line" ? "export const x = 1;\n" : `// Planted.\n${text}\n`;
      expect(findViolations(new Map([[file, source]]), providerNames).join("\n")).toMatch(expected);
    });
  }

  test("a cycle", () => {
    const tree = new Map([
      ["model/a.ts", '// A.\nimport { b } from "./b.ts";\n'],
      ["model/b.ts", '// B.\nimport type { c } from "./c.ts";\n'],
      ["model/c.ts", '// C.\nimport {\n  a,\n} from "./a.ts";\n'],
    ]);
    expect(findViolations(tree, [])).toEqual(["cycle: model/a.ts → model/b.ts → model/c.ts → model/a.ts"]);
  });
});
