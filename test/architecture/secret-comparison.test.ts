// Secrets are never compared with ===, whose duration reveals how many characters match.
import { Glob } from "bun";
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const SOURCE = join(import.meta.dir, "../../src");
const NAME =
  "(?:[sS]ecret|[tT]oken|[sS]ignature|[pP]assword|[hH]ash|[dD]igest|header_value|presented|[cC]redential)";
const EMPTY = '(?:null|undefined|"")';
/** Folders that handle keys, tokens, and credentials. Elsewhere, these names mean parts of a text and counter keys. */
const FOLDERS = ["admin", "base", "model", "proxy", "snapshot", "store", "telemetry", "upstream"];
/** A comparison of such a name with anything except null, undefined, or "", in either order. */
const LEFT = new RegExp(`${NAME}\\)?\\s*[!=]==?(?!=)\\s*(?!\\s|${EMPTY})`);
const RIGHT = new RegExp(`(?<!${EMPTY})\\s[!=]==?(?!=)\\s*(?:\\w+\\.)*\\w*${NAME}\\b(?!\\()`);

/** Known comparisons, with the reason why they are safe. */
const SAFE = [
  // Compares documents and history of an operator with stored records; no client can use these to guess a secret.
  'if (hash === then["hash"] && active === then["active"])',
  "before?.hash === (key_sha256 ?? before?.hash)",
  // Hashes of definitions of tools, which clients can read.
  'known["hash"] !== tool.hash',
  "tool.hash === tool.approvedHash",
  "if (hash !== approvedHash) return pin",
  // Hashes of texts under a random key: a client cannot choose them, so the time of comparing them says nothing about a text.
  "return rest[at] === digest[1] && rest[at + 1] === digest[2] && rest[at + 2] === digest[3];",
  "other instanceof HiddenSecret && other.#secret === this.#secret",
];

const isSuspect = (line: string) =>
  (LEFT.test(line) || RIGHT.test(line)) && !SAFE.some((known) => line.includes(known));

test("secrets are looked up by their hash, or compared in constant time, never with ===", () => {
  const suspects: string[] = [];
  for (const file of new Glob(`{${FOLDERS.join(",")}}/**/*.ts`).scanSync(SOURCE)) {
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
])("finds %s", (line) => {
  expect(isSuspect(line)).toBe(true);
});

test.each([
  "if (token === null) return;",
  "presented !== undefined",
  'if (secret === "") throw',
  "if (null !== hash)",
])("accepts %s", (line) => {
  expect(isSuspect(line)).toBe(false);
});
