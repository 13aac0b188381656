// Received bytes are read together, each once and in order, and many of them do not wait.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ReceiveQueue, type Receiver } from "./receive-queue.ts";

const MAX_CHUNK_BYTES = 64 * 1024;
const MAX_QUEUED_BYTES = 1024 * 1024;

interface TestReceiver extends Receiver {
  readonly chunks: string[];
  readonly errors: unknown[];
}

function receiver(onChunk: (chunk: string) => void = () => undefined): TestReceiver {
  const chunks: string[] = [];
  const errors: unknown[] = [];
  return {
    queued: null,
    chunks,
    errors,
    onData: (bytes) => {
      chunks.push(bytes.toString());
      onChunk(bytes.toString());
    },
    onDataError: (error) => errors.push(error),
  };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test("bytes are read in the next turn of the event loop, in the order in which they arrived", async () => {
  const queue = new ReceiveQueue();
  const order: string[] = [];
  const [first, second] = [receiver((chunk) => order.push(chunk)), receiver((chunk) => order.push(chunk))];
  queue.push(second, Buffer.from("2"));
  queue.push(first, Buffer.from("1"));
  await Promise.resolve();
  expect(order).toEqual([]);
  await nextTurn();
  expect(order).toEqual(["2", "1"]);
  queue.push(first, Buffer.from("3"));
  await nextTurn();
  expect(order).toEqual(["2", "1", "3"]);
});

test("a receiver gets its bytes in order if more arrive before the first ones are read", () => {
  const queue = new ReceiveQueue();
  const one = receiver();
  queue.push(one, Buffer.from("a"));
  queue.push(one, Buffer.alloc(MAX_CHUNK_BYTES + 1, "b"));
  expect(one.chunks).toEqual(["a", "b".repeat(MAX_CHUNK_BYTES + 1)]);
  queue.push(one, Buffer.from("c"));
  queue.push(one, Buffer.from("d"));
  queue.deliver();
  expect(one.chunks.slice(2)).toEqual(["c", "d"]);
});

test("large chunks do not wait", () => {
  const queue = new ReceiveQueue();
  const [small, large] = [receiver(), receiver()];
  queue.push(small, Buffer.alloc(MAX_CHUNK_BYTES));
  queue.push(large, Buffer.alloc(MAX_CHUNK_BYTES + 1));
  expect([small.chunks.length, large.chunks.length]).toEqual([0, 1]);
});

test("all are read when more than a mebibyte waits", () => {
  const queue = new ReceiveQueue();
  const fitting = Array.from({ length: MAX_QUEUED_BYTES / MAX_CHUNK_BYTES }, () => receiver());
  for (const each of fitting) queue.push(each, Buffer.alloc(MAX_CHUNK_BYTES));
  expect(fitting.flatMap(({ chunks }) => chunks)).toEqual([]);
  const last = receiver();
  queue.push(last, Buffer.from("x"));
  for (const { chunks } of [...fitting, last]) expect(chunks).toHaveLength(1);
});

describe("while bytes are read", () => {
  test("an error is reported to its receiver, and the others get their bytes", () => {
    const queue = new ReceiveQueue();
    const error = new Error("not expected");
    const failing = receiver(() => {
      throw error;
    });
    const other = receiver();
    queue.push(failing, Buffer.from("1"));
    queue.push(other, Buffer.from("2"));
    queue.deliver();
    expect(failing.errors).toEqual([error]);
    expect([other.chunks, other.errors]).toEqual([["2"], []]);
  });

  test("a receiver can have the rest read first", () => {
    const queue = new ReceiveQueue();
    const last = receiver();
    let chunksOfLast: string[] = [];
    const first = receiver(() => {
      queue.deliver();
      chunksOfLast = [...last.chunks];
    });
    queue.push(first, Buffer.from("1"));
    queue.push(last, Buffer.from("2"));
    queue.deliver();
    expect(chunksOfLast).toEqual(["2"]);
    expect([first.chunks, last.chunks]).toEqual([["1"], ["2"]]);
  });
});

test("whatever the sizes and turns, each receiver gets its bytes once and in order, and few wait", async () => {
  const step = fc.oneof(
    { weight: 8, arbitrary: fc.record({ to: fc.nat(3), size: fc.oneof(fc.nat(9), fc.nat(200_000)) }) },
    { weight: 1, arbitrary: fc.constantFrom("turn" as const, "deliver" as const) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const queue = new ReceiveQueue();
      const receivers = Array.from({ length: 4 }, () => receiver());
      const expected = receivers.map((): string[] => []);
      let next = 0;
      for (const each of steps) {
        if (each === "turn") await nextTurn();
        else if (each === "deliver") queue.deliver();
        else {
          const text = `${next++}:`.padEnd(each.size, "x");
          expected[each.to]!.push(text);
          queue.push(receivers[each.to]!, Buffer.from(text));
        }
        const waiting = receivers.reduce((sum, { queued }) => sum + (queued?.byteLength ?? 0), 0);
        expect(waiting).toBeLessThanOrEqual(MAX_QUEUED_BYTES);
      }
      await nextTurn();
      expect(receivers.map(({ chunks }) => chunks)).toEqual(expected);
    }),
    { numRuns: 200 },
  );
});
