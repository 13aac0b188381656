// Text and media by their first bytes: encodings of text, known media, and characters that are cut.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { isMediaFile, isTextFile } from "./text-bytes.ts";
import { startsAsJson } from "./wide-text.ts";

const encoded = (text: string): Readonly<Record<string, Buffer>> => {
  const little = Buffer.from(text, "utf16le");
  const units = Buffer.from(Uint32Array.from(text, (each) => each.codePointAt(0) ?? 0).buffer);
  return {
    "UTF-8": Buffer.from(text),
    "UTF-16LE": little,
    "UTF-16BE": Buffer.from(little).swap16(),
    "UTF-32LE": units,
    "UTF-32BE": Buffer.from(units).swap32(),
  };
};

test("JSON is text in every encoding, whatever its characters and its declared type", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.json(), fc.nat(3), (key, value, spaces) => {
      const text = `${" \n".repeat(spaces)}{${JSON.stringify(key.toWellFormed())}:${value.toWellFormed()}}`;
      const others = Object.entries(encoded(text)).flatMap(([name, bytes]) =>
        [null, "application/octet-stream", "image/png"]
          .filter((type) => !isTextFile(type, bytes) || isMediaFile(type, bytes))
          .map((type) => `${name} ${type}`),
      );
      expect(others).toEqual([]);
    }),
    { numRuns: 100 },
  );
});

test("a text with a control character is text wherever it is cut, unless its type is that of media", () => {
  const bytes = Buffer.from(`\u0001 ${"ä€\u{1f600}x".repeat(100)}`);
  const lengths = Array.from(bytes, (_, index) => index + 1);
  expect(
    lengths.filter((length) => !isTextFile("application/octet-stream", bytes.subarray(0, length))),
  ).toEqual([]);
  expect(isMediaFile("image/png", bytes)).toBeTrue();
  expect(isTextFile(null, Buffer.from("\u0001\xff\xfe", "latin1"))).toBeFalse();
});

test("media is no text, and only known media is media without its type", () => {
  const media = [
    "ffd8ffe000104a46",
    "89504e470d0a1a0a00",
    "00000020667479706973",
    "4944330400000000",
    "255044462d31",
  ];
  for (const hex of media) {
    const bytes = Buffer.from(hex, "hex");
    expect([hex, isMediaFile(null, bytes), isTextFile(null, bytes)]).toEqual([hex, true, false]);
  }
  for (const hex of ["1f8b080000000000", "504b030414000600ff", "5b005cff7b000001"]) {
    const bytes = Buffer.from(hex, "hex");
    expect([hex, isMediaFile(null, bytes), isMediaFile("audio/pcm", bytes)]).toEqual([hex, false, true]);
  }
  for (const hex of ["0000002066747970", "5b5c", "7b7b7b"])
    expect([hex, startsAsJson(Buffer.from(hex, "hex"))]).toEqual([hex, false]);
});
