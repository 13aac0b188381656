// The generated references are those of the code as it is.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { references } from "../../scripts/generate-references.ts";

/** The formatter pads tables; blanks and the length of rules are not what is compared. */
function content(text: string): string {
  return text.replaceAll(/ +/g, " ").replaceAll(/-{3,}/g, "---");
}

for (const [file, expected] of references()) {
  test(`${file} is up to date (npm run docs writes it)`, () => {
    const found = readFileSync(join(import.meta.dir, "../..", file), "utf8");
    expect(content(found)).toBe(content(expected));
  });
}
