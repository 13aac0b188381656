// The text hash is FNV-1a.
import { expect, test } from "bun:test";
import { hashText } from "./text-hash.ts";

test("returns the published FNV-1a test vectors", () => {
  expect(hashText("")).toBe(0x811c9dc5);
  expect(hashText("a")).toBe(0xe40c292c);
  expect(hashText("foobar")).toBe(0xbf9cf968);
});
