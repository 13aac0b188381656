// docs/security.md names a test for every claim, and every test that it names exists.
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

/** Returns whether the source of the file has a test or a group with this title. */
function exists({ file, title }: Reference): boolean {
  const path = join(ROOT, file);
  if (!existsSync(path)) return false;
  const escaped = title.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`\\(\\s*["'\`]${escaped}["'\`]`).test(readFileSync(path, "utf8"));
}

test("every test that is named exists", () => {
  const named = referencesIn(text);
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter((reference) => !exists(reference))).toEqual([]);
});

test("the check finds a wrong file, a wrong title, and a title in a comment", () => {
  const file = "test/docs/security.test.ts";
  expect(exists({ file, title: "every test that is named exists" })).toBe(true);
  expect(exists({ file: "test/docs/nothing.test.ts", title: "every test that is named exists" })).toBe(false);
  expect(exists({ file, title: "every test that is named" })).toBe(false);
  expect(exists({ file, title: "docs/security.md names a test for every claim" })).toBe(false);
});

test("every item of the threat model names a test", () => {
  const lines = text.split(/\n(?=- )/).slice(1);
  expect(lines.length).toBeGreaterThan(50);
  const bare = lines.filter((line) => referencesIn(line.split(/\n\n/)[0] ?? "").length === 0);
  expect(bare).toEqual([]);
});

test("every test file is named with a title", () => {
  const files = [...text.matchAll(/`((?:test|src)\/[\w./-]+\.(?:test|contract)\.ts)`/g)].length;
  // The introduction names this file without a title.
  expect(referencesIn(text)).toHaveLength(files - 1);
});

test("every runtime dependency is listed, all versions are exact, and only Bun may run an install script", () => {
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
