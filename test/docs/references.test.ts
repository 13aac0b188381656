// The generated references match the code.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { references } from "../../scripts/generate-references.ts";

/** Ignores the padding of tables, which depends on the formatter. */
function content(text: string): string {
  return text.replaceAll(/ +/g, " ").replaceAll(/-{3,}/g, "---");
}

for (const [file, expected] of references()) {
  test(`${file} is up to date (npm run docs writes it)`, () => {
    const found = readFileSync(join(import.meta.dir, "../..", file), "utf8");
    expect(content(found)).toBe(content(expected));
  });
}
