// The source tree follows the layers in ARCHITECTURE.md, and the check detects planted violations.
import { Glob } from "bun";
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { knownProviders } from "../../src/formats/providers.ts";
import { findConsoleViolations, findViolations, LAYERS } from "./layering.ts";

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
  ["an import from src", 'import { x } from "../../src/base/ids.ts";', /not the console's/],
  ["the same, as a type", 'import type { X } from "../../src/model/rule.ts";', /not the console's/],
  ["a package of the server", 'import { z } from "zod";', /not the console's/],
  ["a default export", "export default 1;", /default export/],
])("planted in the console, %s is found", (_, text, expected) => {
  const tree = new Map([["pages/x.tsx", `// Planted.\n${text}\n`]]);
  expect(findConsoleViolations(tree).join("\n")).toMatch(expected);
});

test("the tree that was checked contains the expected folders", () => {
  const folders = new Set([...sourceTree().keys()].map((file) => file.split("/")[0] ?? ""));
  for (const folder of ["admin", "base", "cli", "main.ts", "model", "proxy", "snapshot", "store"])
    expect(folders).toContain(folder);
  for (const folder of folders) expect(Object.keys(LAYERS)).toContain(folder);
});

describe("a planted violation is found", () => {
  const planted: [what: string, file: string, text: string, expected: RegExp][] = [
    [
      "a higher layer",
      "model/rule.ts",
      'import { x } from "../store/store.ts";',
      /layer 2 may only import lower layers, not 4/,
    ],
    [
      "the same layer",
      "model/rule.ts",
      'import type { x } from "../telemetry/health.ts";',
      /layer 2 .* not 2/,
    ],
    [
      "the same layer, re-exported",
      "admin/api.ts",
      'export { x } from "../explain/explain.ts";',
      /layer 9 .* not 9/,
    ],
    [
      "a dynamic import upwards",
      "base/ids.ts",
      'const x = await import("../cli/main.ts");',
      /layer 0 .* not 11/,
    ],
    [
      "the store in the data plane",
      "proxy/handle.ts",
      'import { x } from "../store/store.ts";',
      /never imports store/,
    ],
    [
      "the data plane in the control plane",
      "admin/api.ts",
      'import { x } from "../proxy/handle.ts";',
      /never imports proxy/,
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
      "an import from outside src",
      "store/store.ts",
      'import { x } from "../../test/support/postgres.ts";',
      /outside src/,
    ],
    ["a folder without a layer", "helpers/x.ts", 'import { x } from "../base/ids.ts";', /has no layer/],
    [
      "a provider's name",
      "proxy/attempt.ts",
      'if (target.provider === "groq") retry();',
      /names the provider "groq"/,
    ],
    ["a barrel", "model/index.ts", 'export * from "./rule.ts";', /barrel/],
    ["a default export", "model/rule.ts", "export default 1;", /default export/],
    ["no opening line", "model/rule.ts", "", /does not open/],
    ["a file too long", "model/rule.ts", "x\n".repeat(301), /lines/],
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
