// Property: packets are the same after encoding and decoding, wherever the bytes are cut; damaged frames are errors.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../../../test/support/long-form.ts";
import { encodeFrame, FrameReader, MAX_FRAME_BYTES } from "./frames.ts";
import { anyCharacter } from "../../../test/support/characters.ts";

const packet = fc.record({
  text: fc.string({ unit: anyCharacter, maxLength: 50 }),
  blobs: fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 4 }),
});

test("packets survive any cut of the stream", () => {
  fc.assert(
    fc.property(fc.array(packet, { maxLength: 5 }), fc.array(fc.nat(200)), (packets, cuts) => {
      const bytes = Buffer.concat(packets.map((each) => encodeFrame(each)));
      const reader = new FrameReader();
      const read = [];
      let from = 0;
      for (const length of [...cuts, bytes.length]) {
        read.push(...reader.read(bytes.subarray(from, from + length)));
        from = Math.min(bytes.length, from + length);
      }
      const plain = (each: { text: string; blobs: readonly Uint8Array[] }) => ({
        text: each.text,
        blobs: each.blobs.map((blob) => [...blob]),
      });
      expect(read.map(plain)).toEqual(packets.map(plain));
    }),
    { numRuns: runs({ short: 300, long: 100_000 }) },
  );
});

test("a frame that is too large or damaged is an error", () => {
  const large = Buffer.alloc(4);
  large.writeUInt32LE(MAX_FRAME_BYTES);
  expect(() => new FrameReader().read(large)).toThrow("larger than");
  const frame = encodeFrame({ text: "abc", blobs: [] });
  frame.writeUInt32LE(1000, 4);
  expect(() => new FrameReader().read(frame)).toThrow("too short");
  const many = encodeFrame({ text: "abc", blobs: [] });
  many.writeUInt32LE(1_000_000, 8);
  expect(() => new FrameReader().read(many)).toThrow("at most 1000");
});
