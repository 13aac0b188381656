import { expect, test } from "bun:test";
import fc from "fast-check";
import { countTurns } from "../../test/support/counted-turns.ts";
import type { BodyReader } from "./body-reader.ts";
import { PacedReader, readInPieces } from "./paced-reader.ts";

/** Has all chunks at once, then ends or rejects. */
class Source implements BodyReader {
  isCanceled = false;
  readonly #chunks: Uint8Array[];
  readonly #error: Error | null;

  constructor(chunks: readonly Uint8Array[], error: Error | null = null) {
    this.#chunks = [...chunks];
    this.#error = error;
  }

  async next(): Promise<Uint8Array | null> {
    const first = await this.peek();
    this.#chunks.shift();
    return first;
  }
  peek(): Promise<Uint8Array | null> {
    const [first] = this.#chunks;
    if (this.isCanceled) return Promise.reject(new Error("canceled"));
    if (first !== undefined) return Promise.resolve(first);
    return this.#error === null ? Promise.resolve(null) : Promise.reject(this.#error);
  }
  cancel(): void {
    this.isCanceled = true;
  }
}

const MAX_PIECE = 16 * 1024;
const chunk = fc
  .tuple(fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 3 * MAX_PIECE })), fc.nat(255))
  .map(([length, byte]) => new Uint8Array(length).map((_, index) => byte + index));
const chunks = fc.array(chunk, { maxLength: 20 });

test("the bytes and their order stay the same, in pieces of bounded size", async () => {
  const peeks = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(chunks, peeks, async (given, peeked) => {
      const reader = new PacedReader(new Source(given));
      const pieces: Uint8Array[] = [];
      for (let turn = 0; ; turn++) {
        const next = peeked[turn % peeked.length] === true ? await reader.peek() : undefined;
        const piece = await reader.next();
        if (piece === null) break;
        if (next !== undefined)
          expect(Buffer.from(next ?? []).subarray(0, piece.byteLength)).toEqual(Buffer.from(piece));
        pieces.push(piece);
      }
      expect(Buffer.concat(pieces).equals(Buffer.concat(given))).toBe(true);
      expect(pieces.every(({ byteLength }) => byteLength > 0 && byteLength <= MAX_PIECE)).toBe(true);
      // A chunk of ordinary size is not copied, and is one piece.
      if (given.every(({ byteLength }) => byteLength <= MAX_PIECE)) expect(pieces).toEqual(given);
    }),
  );
});

test("readInPieces passes on all bytes in order", async () => {
  await fc.assert(
    fc.asyncProperty(chunk, async (bytes) => {
      const pieces: Uint8Array[] = [];
      await readInPieces(bytes, (piece) => void pieces.push(piece));
      expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
    }),
  );
});

/** Takes 1 ms, as work on a piece may. */
function work(): void {
  const endsAt = performance.now() + 1;
  while (performance.now() < endsAt);
}

test("long work on bytes that have arrived is divided over turns of the event loop", async () => {
  const large = new Uint8Array(64 * MAX_PIECE);
  const counted = countTurns();
  const reader = new PacedReader(new Source([large]));
  for (let piece = await reader.next(); piece !== null; piece = await reader.next()) work();
  const ofReader = counted.count;
  expect(ofReader).toBeGreaterThan(3);
  await readInPieces(large, work);
  counted.stop();
  expect(counted.count - ofReader).toBeGreaterThan(3);
});

test("errors of the source and cancel take effect at the next read", async () => {
  const failing = new PacedReader(new Source([new Uint8Array(3 * MAX_PIECE)], new Error("cut")));
  for (let piece = 0; piece < 3; piece++) expect((await failing.next())?.byteLength).toBe(MAX_PIECE);
  expect(await failing.next().catch(String)).toBe("Error: cut");
  const source = new Source([new Uint8Array(3 * MAX_PIECE)]);
  const canceled = new PacedReader(source);
  await canceled.next();
  canceled.cancel();
  expect(source.isCanceled).toBe(true);
  expect(await canceled.next().catch(String)).toBe("Error: canceled");
});

test("bursts that arrive together are not all read in one turn", async () => {
  const counted = countTurns();
  const readIn = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const reader = new PacedReader(new Source([new Uint8Array(2 * MAX_PIECE)]));
      await reader.next();
      // Longer than the work of a turn may take.
      for (let ms = 0; ms < 6; ms++) work();
      return counted.count;
    }),
  );
  counted.stop();
  expect(new Set(readIn).size).toBeGreaterThan(3);
});
