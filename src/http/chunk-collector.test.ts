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
