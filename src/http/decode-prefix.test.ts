// Decoding the first bytes of an encoded body.
import { describe, expect, test } from "bun:test";
import { parseContentEncoding, type ContentEncoding } from "./content-encoding.ts";
import { decodePrefix } from "./decode-prefix.ts";
import { ENCODERS, TEXT } from "./encodings.fixture.ts";

function encodingNamed(header: string): ContentEncoding {
  const encoding = parseContentEncoding(header);
  if (typeof encoding === "string") throw new Error(encoding);
  return encoding;
}

const LIMIT = 10_000;

describe.each(ENCODERS)("%s", (_, header, encode) => {
  const decode = (bytes: Uint8Array, isWhole = true) =>
    decodePrefix(bytes, encodingNamed(header), { isWhole, maxBytes: LIMIT });

  test("a whole body within the limit is decoded", async () => {
    for (const text of ["hello", "x".repeat(LIMIT)])
      expect(await decode(encode(Buffer.from(text)))).toEqual({ bytes: Buffer.from(text), end: "complete" });
  });

  test("of a larger body, the bytes up to the limit are returned, also of gigabytes in a kilobyte", async () => {
    const { bytes, end } = await decode(encode(TEXT));
    expect([bytes.equals(TEXT.subarray(0, LIMIT)), end]).toEqual([true, "cut"]);
    const bomb = await decode(encode(Buffer.alloc(64 << 20)));
    expect([bomb.bytes.equals(Buffer.alloc(LIMIT)), bomb.end]).toEqual([true, "cut"]);
  });

  test("of a body that ends early, what was decoded is returned", async () => {
    const noise = Buffer.from(crypto.getRandomValues(new Uint8Array(5000)).toHex().slice(0, 5000));
    const encoded = encode(noise);
    const cut = encoded.subarray(0, encoded.length - 20);
    const { bytes, end } = await decode(cut);
    expect([noise.subarray(0, bytes.length).equals(bytes), end]).toEqual([true, "invalid"]);
    expect((await decode(cut, false)).end).toBe("cut");
  });

  test("what is not encoded is invalid", async () => {
    expect(await decode(Buffer.from("plain text"))).toEqual({ bytes: Buffer.alloc(0), end: "invalid" });
  });
});
