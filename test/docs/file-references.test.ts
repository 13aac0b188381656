// Files named in ARCHITECTURE.md and CONTRIBUTING.md exist, except those that a build writes to dist/.
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "../..");

/** A path in backquotes, without placeholders such as NAME or `*`. */
const PATH = /`((?:[a-z][\w.-]*\/)+[\w.-]*|src\/[\w.-]+)`/g;

test.each(["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/glossary.md"])("%s", (document) => {
  const text = readFileSync(join(ROOT, document), "utf8");
  const paths = [...text.matchAll(PATH)]
    .map(([, path = ""]) => path)
    .filter((path) => !path.includes("NAME") && !path.startsWith("dist/"));
  const missing = paths.filter(
    (path) => !existsSync(join(ROOT, path)) && !existsSync(join(ROOT, "src", path)),
  );
  expect(missing).toEqual([]);
});

test("the documents name files at all", () => {
  expect([...readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8").matchAll(PATH)].length).toBeGreaterThan(30);
});
