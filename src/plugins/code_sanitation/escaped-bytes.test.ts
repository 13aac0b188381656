// Bytes that are not valid UTF-8 are kept, and valid ones are decoded as usual.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { decodeWithEscapedBytes, encodeWithEscapedBytes } from "./escaped-bytes.ts";
import { runs } from "../../../test/support/long-form.ts";

const INVALID = [
  [0xff],
  [0xc0, 0x80],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xf8, 0x90, 0x80, 0x80],
  [0xe2, 0x80],
];
const piece = fc.oneof(
  fc.string({ unit: "binary", maxLength: 5 }).map((text) => Buffer.from(text)),
  fc.constantFrom(...INVALID).map((bytes) => Buffer.from(bytes)),
  fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
);

test("all bytes are the same after decoding and encoding", () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const bytes = Buffer.concat(pieces);
      const text = decodeWithEscapedBytes(bytes);
      expect(Buffer.from(encodeWithEscapedBytes(text)).equals(bytes)).toBe(true);
      const replaced = text.replaceAll(/(?:\ufffd|(?<![\ud800-\udbff])[\udc80-\udcff])+/g, "\ufffd");
      expect(replaced).toBe(bytes.toString("utf8").replaceAll(/\ufffd+/g, "\ufffd"));
    }),
    { numRuns: runs({ short: 400, long: 2000 }) },
  );
});
