// The files of this repository, as a coding agent sends them, contain nothing that the relaxed patterns find.
import { expect, test } from "bun:test";
import { repositoryTexts } from "../../../test/support/repository-texts.ts";
import { compileDetector } from "./detector.ts";
import { LANGUAGES } from "./settings.ts";

/** Files that contain attacks on purpose, besides those whose path names the plugin or hostile input. */
const WITH_ATTACKS = [
  "docs/guides/coding-agents.md",
  "scripts/accuracy.ts",
  "scripts/screenshots.ts",
  "test/browser/areas/plugins.ts",
  "test/build/executable.ts",
  "test/contract/store.contract.ts",
  "test/e2e/admin-fuzz.test.ts",
  "test/system/explain.test.ts",
  "test/soak/mixed-load.ts",
  "test/support/explain-worlds.ts",
  "test/support/field-tables.ts",
];

test("relaxed patterns find nothing in the files of this repository", () => {
  const relaxed = compileDetector(
    LANGUAGES.map((language) => ({ language, sensitivity: "relaxed" as const })),
  );
  const texts = [...repositoryTexts()].filter(
    ([path]) => !/sanitation|hostile/.test(path) && !WITH_ATTACKS.includes(path),
  );
  expect(texts.length).toBeGreaterThan(500);
  const found = texts.flatMap(([path, text]) =>
    relaxed
      .findAll(text)
      .map(({ pattern, start, end }) => `${path}: ${pattern} ${JSON.stringify(text.slice(start - 10, end))}`),
  );
  expect([...new Set(found)]).toEqual([]);
});
