// Streams that are decoded, changed, and encoded again.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { decodeBody, parseContentEncoding, type ContentEncoding } from "./content-encoding.ts";
import { ENCODERS, inPieces, TEXT } from "./encodings.fixture.ts";
import { StreamRecoder } from "./stream-recoder.ts";
import { runs } from "../../test/support/long-form.ts";

function encodingNamed(header: string): ContentEncoding {
  const encoding = parseContentEncoding(header);
  if (typeof encoding === "string") throw new Error(encoding);
  return encoding;
}

/** Decodes the pieces, changes them, and returns the newly encoded stream. */
async function recode(
  encoding: ContentEncoding,
  pieces: readonly Uint8Array[],
  change = (text: string) => text,
): Promise<Buffer> {
  const recoder = new StreamRecoder(encoding, true);
  const encoded: Uint8Array[] = [];
  try {
    for (const piece of pieces) {
      const text = Buffer.from(await recoder.decode(piece)).toString("latin1");
      encoded.push(await recoder.encode(Buffer.from(change(text), "latin1")));
    }
    encoded.push(await recoder.end());
    return Buffer.concat(encoded);
  } finally {
    recoder.destroy();
  }
}

/** The error that a promise rejects with, as text. */
async function errorOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(() => "none", String);
}

describe.each(ENCODERS)("%s", (_, header, encode) => {
  const encoding = encodingNamed(header);
  const decoded = (bytes: Uint8Array) => Buffer.from(decodeBody(bytes, encoding)!).toString("latin1");

  test("property: split anywhere, all of the text is decoded and encoded again", async () => {
    const texts = fc.string({ maxLength: 3000 }).map((text) => text.replaceAll(/[^\x20-\x7e]/g, "\n"));
    await fc.assert(
      fc.asyncProperty(texts, fc.integer({ min: 1, max: 500 }), async (text, size) => {
        const pieces = inPieces(encode(Buffer.from(text)), size);
        const changed = await recode(encoding, pieces, (part) => part.toUpperCase());
        expect(decoded(changed)).toBe(text.toUpperCase());
      }),
      { numRuns: runs({ short: 20, long: 50 }) },
    );
  });

  test("what has been encoded so far can be decoded before the end", async () => {
    const recoder = new StreamRecoder(encoding, true);
    const reader = new StreamRecoder(encoding, false);
    await recoder.decode(encode(TEXT));
    for (const event of ["data: 1\n\n", "data: 2\n\n"])
      expect(Buffer.from(await reader.decode(await recoder.encode(Buffer.from(event)))).toString()).toBe(
        event,
      );
    recoder.destroy();
    reader.destroy();
  });

  test("a truncated stream is not given a proper end", async () => {
    expect(await errorOf(recode(encoding, inPieces(encode(TEXT).subarray(0, -1))))).toContain("Error");
  });

  test("an invalid stream is rejected", async () => {
    expect(await errorOf(recode(encoding, [Buffer.from("plain text, and more of it")]))).toContain("Error");
  });

  test("a piece that decodes to more than 32 MiB is rejected", async () => {
    const piece = encode(Buffer.alloc(33 << 20));
    expect(await errorOf(recode(encoding, [piece]))).toContain("more than 33554432 bytes");
  });

  test("pending and further calls reject after destroy", async () => {
    const recoder = new StreamRecoder(encoding, true);
    const pending = recoder.decode(encode(TEXT));
    recoder.destroy();
    expect(await errorOf(pending)).toContain("destroyed");
    expect(await errorOf(recoder.encode(TEXT))).toContain("destroyed");
  });
});

test("an empty stream stays empty", async () => {
  expect(await recode(encodingNamed("gzip"), [])).toEqual(Buffer.alloc(0));
});
