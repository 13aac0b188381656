// The end of zstd frames, wherever the bytes are split.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { constants, zstdCompressSync } from "node:zlib";
import { isCompleteZstd, ZstdFrames } from "./zstd-frames.ts";

/** Random bytes give raw blocks, equal ones RLE blocks, and text compressed blocks. */
const contents = fc.oneof(
  fc.uint8Array({ maxLength: 2000 }).map((bytes) => Buffer.from(bytes)),
  fc.nat({ max: 400_000 }).map((size) => Buffer.alloc(size, "x")),
  fc.nat({ max: 20_000 }).map((count) => Buffer.from("some text, ".repeat(count))),
);

const zstdFrame = fc
  .record({ content: contents, checksum: fc.boolean(), declaresSize: fc.boolean() })
  .map(({ content, checksum, declaresSize }) =>
    zstdCompressSync(content, {
      params: {
        [constants.ZSTD_c_checksumFlag]: Number(checksum),
        [constants.ZSTD_c_contentSizeFlag]: Number(declaresSize),
      },
    }),
  );

const skippableFrame = fc.uint8Array({ maxLength: 300 }).map((bytes) => {
  const header = Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]);
  header.writeUInt32LE(bytes.length, 4);
  return Buffer.concat([header, bytes]);
});

const frames = fc.array(fc.oneof({ weight: 4, arbitrary: zstdFrame }, skippableFrame), {
  minLength: 1,
  maxLength: 3,
});

test("property: bytes are complete exactly at the end of a frame", () => {
  fc.assert(
    fc.property(frames, fc.array(fc.nat({ max: 1000 }), { maxLength: 5 }), (list, cuts) => {
      const all = Buffer.concat(list);
      const ends = new Set<number>();
      let end = 0;
      for (const frame of list) ends.add((end += frame.length));
      const places = [...cuts.map((cut) => Math.floor((cut * all.length) / 1000)), ...ends];
      const tracker = new ZstdFrames();
      let from = 0;
      for (const place of places.sort((a, b) => a - b)) {
        tracker.push(all.subarray(from, place));
        expect([place, tracker.isComplete]).toEqual([place, ends.has(place)]);
        from = place;
      }
    }),
    { numRuns: 300 },
  );
});

test("every proper prefix of a frame is incomplete", () => {
  const frame = zstdCompressSync(Buffer.from("some text, ".repeat(100)));
  for (let length = 0; length < frame.length; length++)
    expect([length, isCompleteZstd(frame.subarray(0, length))]).toEqual([length, false]);
});

test("bytes that are not zstd, alone or after a frame, are never complete", () => {
  const frame = zstdCompressSync(Buffer.from("text"));
  for (const bytes of [Buffer.from("plain text"), Buffer.concat([frame, Buffer.from("garbage!")])])
    expect(isCompleteZstd(bytes)).toBe(false);
});
