// Log lines are written in batches, in order, without loss and with a short delay.
import { expect, test } from "bun:test";
import { ManualClock } from "../../base/manual-clock.fixture.ts";
import { BatchedSink } from "./batched-sink.ts";

const DELAY_MS = 20;

function collect(): { writes: string[]; sink: BatchedSink; clock: ManualClock } {
  const writes: string[] = [];
  const clock = new ManualClock();
  return { writes, sink: new BatchedSink({ write: (lines) => void writes.push(lines) }, clock), clock };
}

test("lines written close together are flushed together, in order", () => {
  const { writes, sink, clock } = collect();
  for (const line of ["a\n", "b\n", "c\n"]) sink.write(line);
  clock.advance(DELAY_MS - 1);
  expect(writes).toEqual([]);
  clock.advance(1);
  expect(writes).toEqual(["a\nb\nc\n"]);
  sink.write("d\n");
  clock.advance(DELAY_MS);
  expect(writes).toEqual(["a\nb\nc\n", "d\n"]);
});

test("the buffer is bounded", () => {
  const { writes, sink } = collect();
  for (let times = 0; times < 3; times++) sink.write("x".repeat(40_000));
  expect(writes.map((text) => text.length)).toEqual([80_000]);
  sink.flush();
  expect(writes.join("")).toHaveLength(120_000);
});

test("flush writes the buffered lines at once, and no line twice", () => {
  const { writes, sink, clock } = collect();
  sink.flush();
  sink.write("last\n");
  sink.flush();
  clock.advance(10 * DELAY_MS);
  expect(writes).toEqual(["last\n"]);
});
