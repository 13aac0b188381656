// No secret is compared in a way whose time tells how much of it was right.
import { Glob } from "bun";
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const SOURCE = join(import.meta.dir, "../../src");
const NAME =
  "(?:[sS]ecret|[tT]oken|[sS]ignature|[pP]assword|[hH]ash|[dD]igest|header_value|presented|[cC]redential)";
const NOTHING = '(?:null|undefined|"")';
/** Where keys, tokens and credentials pass; elsewhere a token is a word of a text, and a digest that of a counter. */
const HOLDERS = ["admin", "base", "model", "proxy", "snapshot", "store", "telemetry", "upstream"];
/** `===` between such a name and anything but nothing at all, in either order. */
const LEFT = new RegExp(`${NAME}\\)?\\s*[!=]==?(?!=)\\s*(?!\\s|${NOTHING})`);
const RIGHT = new RegExp(`(?<!${NOTHING})\\s[!=]==?(?!=)\\s*(?:\\w+\\.)*\\w*${NAME}\\b(?!\\()`);

/** Known ones, each with its reason. */
const HARMLESS = [
  // What is compared is the masked form, which every reader of the record is shown.
  "sent.header_value === maskSecret(stored)",
  // An operator's own documents and history, told apart from what is stored: no guess is judged by these.
  'if (hash === then["hash"] && active === then["active"])',
  "before?.hash === (key_sha256 ?? before?.hash)",
  "target.credentials?.header_value !== HIDDEN",
  "other instanceof HiddenCredential && other.#secret === this.#secret",
];

const isSuspect = (line: string) =>
  (LEFT.test(line) || RIGHT.test(line)) && !HARMLESS.some((known) => line.includes(known));

test("secrets are looked up by their hash, or compared in constant time, never with ===", () => {
  const suspects: string[] = [];
  for (const file of new Glob(`{${HOLDERS.join(",")}}/**/*.ts`).scanSync(SOURCE)) {
    if (file.endsWith(".test.ts")) continue;
    const lines = readFileSync(join(SOURCE, file), "utf8").split("\n");
    for (const [at, line] of lines.entries())
      if (!line.trim().startsWith("//") && isSuspect(line)) suspects.push(`${file}:${at + 1} ${line.trim()}`);
  }
  expect(suspects).toEqual([]);
});

test.each([
  "if (signature === expected) return true;",
  "return given !== adminToken;",
  "if (sha256(key) === record.hash) return record;",
  "const isSame = digest == other;",
])("would be found: %s", (line) => {
  expect(isSuspect(line)).toBe(true);
});

test.each([
  "if (token === null) return;",
  "presented !== undefined",
  'if (secret === "") throw',
  "if (null !== hash)",
])("is fine: %s", (line) => {
  expect(isSuspect(line)).toBe(false);
});
