// docs/security.md keeps its word: every line names tests, and every test it names is there.
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };

const ROOT = join(import.meta.dir, "../..");
const text = readFileSync(join(ROOT, "docs/security.md"), "utf8");

interface Reference {
  readonly file: string;
  readonly title: string;
}

function referencesIn(part: string): Reference[] {
  return [...part.matchAll(/`((?:test|src)\/[\w./-]+\.ts)`\s+"([^"]+)"/g)].map(
    ([, file = "", title = ""]) => ({
      file,
      title: title.replaceAll(/\s+/g, " "),
    }),
  );
}

/** Whether the file has a test or a group of this title, as its source writes it. */
function isThere({ file, title }: Reference): boolean {
  const path = join(ROOT, file);
  if (!existsSync(path)) return false;
  const escaped = title.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`\\(\\s*["'\`]${escaped}["'\`]`).test(readFileSync(path, "utf8"));
}

test("every test that is named exists", () => {
  const named = referencesIn(text);
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter((reference) => !isThere(reference))).toEqual([]);
});

test("the check can fail: a wrong file, a wrong title, a title in a comment", () => {
  const file = "test/docs/security.test.ts";
  expect(isThere({ file, title: "every test that is named exists" })).toBe(true);
  expect(isThere({ file: "test/docs/nothing.test.ts", title: "every test that is named exists" })).toBe(
    false,
  );
  expect(isThere({ file, title: "every test that is named" })).toBe(false);
  expect(isThere({ file, title: "docs/security.md keeps its word" })).toBe(false);
});

test("every line of the threat model names a test", () => {
  const lines = text.split(/\n(?=- )/).slice(1);
  expect(lines.length).toBeGreaterThan(50);
  const bare = lines.filter((line) => referencesIn(line.split(/\n\n/)[0] ?? "").length === 0);
  expect(bare).toEqual([]);
});

test("every file that is named is named with a title", () => {
  const files = [...text.matchAll(/`((?:test|src)\/[\w./-]+\.(?:test|contract)\.ts)`/g)].length;
  // The file that checks is named once in the introduction, without one.
  expect(referencesIn(text)).toHaveLength(files - 1);
});

test("every dependency of a running gateway is named here, every one exact in its version, and only Bun may run an install script", () => {
  const { dependencies, devDependencies } = packageJson;
  expect(Object.keys(dependencies).filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies }))
    expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+$/)]);
  expect(packageJson.allowScripts).toEqual({ bun: true });
  const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
    packages: Record<string, { integrity?: string; link?: boolean }>;
  };
  const unchecked = Object.entries(lock.packages).filter(
    ([path, { integrity, link }]) => path !== "" && link !== true && integrity === undefined,
  );
  expect(unchecked.map(([path]) => path)).toEqual([]);
});
