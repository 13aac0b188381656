// Bodies have the same digest exactly if they have the same bytes, whether they are short or long.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { digestOfBody } from "./body-digest.ts";

/** Longer bodies are hashed in another way. */
const SHORT_BYTES = 2048;

test("two bodies have the same digest exactly if they are equal", () => {
  const length = fc.constantFrom(1, 2, SHORT_BYTES - 1, SHORT_BYTES, SHORT_BYTES + 1, 70_000);
  /** The last byte, or any. */
  const position = fc.oneof(fc.constant(-1), fc.nat());
  fc.assert(
    fc.property(length, position, fc.nat(), (bytes, at, value) => {
      const body = Buffer.alloc(bytes, 0x61);
      const other = Buffer.from(body);
      other[at < 0 ? bytes - 1 : at % bytes] = value % 256;
      expect(digestOfBody(body) === digestOfBody(other)).toBe(body.equals(other));
      expect(digestOfBody(body.subarray(1))).not.toBe(digestOfBody(body));
    }),
  );
});

test("a digest does not depend on the place of the body in its memory, nor on digests in between", () => {
  for (const bytes of [10, 5000]) {
    const body = Buffer.from("b".repeat(bytes));
    const digest = digestOfBody(body);
    const within = Buffer.concat([Buffer.from("abc"), body, Buffer.from("def")]);
    expect(digestOfBody(within)).not.toBe(digest);
    expect(digestOfBody(within.subarray(3, 3 + bytes))).toBe(digest);
  }
});
