// A new hook of plugins is an error of the compiler in the table of hooks, and then in each environment that runs plugins.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "../..");
const HOOK =
  "  on_retry?(context: EndContext): HookResult;\n  post_response?(context: EndContext): HookResult;";
const ROW = `  on_retry: {
    stages: ["post_response"],
    suffices: true,
    mayWait: true,
    mayRespond: false,
    mayHoldText: false,
    inline: SUPPORTED,
    isolated: { fields: ["status"], bytes: null, changes: [] },
    shadow: SUPPORTED,
    explain: SUPPORTED,
    harness: { method: "onRetry" },
  },
  post_response: {`;

let copy = "";

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), "new-hook-"));
  cpSync(join(ROOT, "src"), join(copy, "src"), { recursive: true });
  for (const name of readdirSync(ROOT))
    if (name !== "src" && name !== "tsconfig.json") symlinkSync(join(ROOT, name), join(copy, name));
  const config = JSON.parse(readFileSync(join(ROOT, "tsconfig.json"), "utf8")) as object;
  const sources = { ...config, include: ["src"], exclude: ["**/*.test.ts"] };
  writeFileSync(join(copy, "tsconfig.json"), JSON.stringify(sources));
});

afterAll(() => rmSync(copy, { recursive: true, force: true }));

function replaceIn(file: string, text: string, replacement: string): void {
  const path = join(copy, file);
  const source = readFileSync(path, "utf8");
  expect(source).toContain(text);
  writeFileSync(path, source.replace(text, replacement));
}

/** Returns the files with errors. */
async function filesWithErrors(): Promise<string[]> {
  const check = Bun.spawn([process.execPath, "check"], { cwd: copy, stdio: ["ignore", "pipe", "pipe"] });
  const [output, errors] = await Promise.all([check.stdout.text(), check.stderr.text(), check.exited]);
  const found = `${output}\n${errors}`.matchAll(/^(src\/[\w./-]+\.ts)\(\d+,\d+\): error/gm);
  return [...new Set([...found].map(([, file]) => file ?? ""))].sort();
}

test("a hook without a row, and a row without its implementations, do not compile", async () => {
  replaceIn("src/sdk/plugin.ts", "  post_response?(context: EndContext): HookResult;", HOOK);
  expect(await filesWithErrors()).toContain("src/sdk/hook-table.ts");
  replaceIn("src/sdk/hook-table.ts", "  post_response: {", ROW);
  expect(await filesWithErrors()).toEqual([
    "src/explain/explainers.ts",
    "src/proxy/inline-runners.ts",
    "src/proxy/shadow/shadow-runners.ts",
    "src/runtime/isolation/isolated-contexts.ts",
    "src/sdk/testing.ts",
  ]);
}, 300_000);
