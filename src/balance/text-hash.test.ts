import { expect, test } from "bun:test";
import { hashText } from "./text-hash.ts";

test("hashes as the published FNV-1a vectors say", () => {
  expect(hashText("")).toBe(0x811c9dc5);
  expect(hashText("a")).toBe(0xe40c292c);
  expect(hashText("foobar")).toBe(0xbf9cf968);
});
