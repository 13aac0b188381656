// Chunks of any sizes are returned unchanged and in order, and small ones are coalesced.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { ChunkCollector } from "./chunk-collector.ts";

test("returns the concatenation of all chunks", () => {
  const chunk = fc.oneof(
    fc.uint8Array({ maxLength: 50 }),
    fc.integer({ min: 16_300, max: 16_500 }).map((size) => new Uint8Array(size).fill(size)),
    fc.integer({ min: 60_000, max: 70_000 }).map((size) => new Uint8Array(size).fill(size)),
  );
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 30 }), (chunks) => {
      const collector = new ChunkCollector();
      for (const each of chunks) collector.add(each);
      const expected = Buffer.concat(chunks);
      expect(collector.size).toBe(expected.length);
      expect(Buffer.compare(collector.take(), expected)).toBe(0);
      expect(collector.size).toBe(0);
    }),
    { numRuns: 200 },
  );
});

test("with an expected size, returns the concatenation of all chunks, also if they are fewer or more", () => {
  const size = fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 16_000, max: 70_000 }));
  const difference = fc.oneof(fc.constant(0), fc.integer({ min: -100_000, max: 100_000 }));
  fc.assert(
    fc.property(fc.array(size, { maxLength: 20 }), difference, fc.nat(20), (sizes, more, ampleUntil) => {
      const room = { isAmple: true };
      const chunks = sizes.map((bytes, index) => new Uint8Array(bytes).fill(index + 1));
      const expected = Buffer.concat(chunks);
      const collector = new ChunkCollector(Math.max(0, expected.length + more), room);
      chunks.forEach((each, index) => {
        room.isAmple = index < ampleUntil;
        collector.add(each);
      });
      expect(collector.size).toBe(expected.length);
      expect(Buffer.compare(collector.take(), expected)).toBe(0);
      expect(collector.size).toBe(0);
    }),
    { numRuns: 200 },
  );
});

test("with an expected size, chunks that share their memory are copied before it is freed", () => {
  const memory = Buffer.alloc(96 * 1024, 1).fill(2, 32 * 1024);
  const [first, second, third] = [0, 32, 64].map((from) => memory.subarray(from * 1024, (from + 32) * 1024));
  const collector = new ChunkCollector(100 * 1024);
  for (const chunk of [first!, second!, third!]) collector.add(chunk);
  expect(memory.byteLength).toBe(0);
  collector.add(new Uint8Array(4 * 1024).fill(2));
  expect(Buffer.compare(collector.take(), Buffer.alloc(100 * 1024, 1).fill(2, 32 * 1024))).toBe(0);
});

test("a body of which half has arrived is in one piece of memory, and its chunks are freed", () => {
  const collector = new ChunkCollector(100_000);
  const [before, half, rest] = [40_000, 20_000, 40_000].map((bytes) => new Uint8Array(bytes));
  collector.add(before!);
  expect(before!.byteLength).toBe(40_000);
  collector.add(half!);
  collector.add(rest!);
  expect([before!.byteLength, half!.byteLength, rest!.byteLength]).toEqual([0, 0, 0]);
  const whole = collector.take();
  expect([whole.byteLength, whole.buffer.byteLength]).toEqual([100_000, 100_000]);
});

test("without ample room, nothing is allocated for a body that has not arrived", () => {
  const collector = new ChunkCollector(100_000, { isAmple: false });
  const [most, rest] = [90_000, 10_000].map((bytes) => new Uint8Array(bytes).fill(bytes / 10_000));
  collector.add(most!);
  expect(most!.byteLength).toBe(90_000);
  collector.add(rest!);
  expect(Buffer.compare(collector.take(), Buffer.alloc(100_000, 9).fill(1, 90_000))).toBe(0);
});

test("does not keep small chunks: a reused chunk does not change what was collected", () => {
  const collector = new ChunkCollector();
  const chunk = new Uint8Array(1);
  for (let byte = 0; byte < 200_000; byte++) {
    chunk[0] = byte;
    collector.add(chunk);
  }
  const whole = collector.take();
  expect(whole.length).toBe(200_000);
  expect(whole.every((byte, index) => byte === (index & 255))).toBe(true);
});

test("frees chunks that share their memory", () => {
  const collector = new ChunkCollector();
  const memory = new Uint8Array(64 * 1024);
  collector.add(memory.subarray(0, 32 * 1024));
  collector.add(memory.subarray(32 * 1024));
  collector.clear();
  expect(collector.size).toBe(0);
  expect(memory.byteLength).toBe(0);
});
