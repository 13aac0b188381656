// Log lines are written in batches, in order, without loss and with a short delay.
import { expect, test } from "bun:test";
import { BatchedSink } from "./batched-sink.ts";

function collect(): { writes: string[]; sink: BatchedSink } {
  const writes: string[] = [];
  return { writes, sink: new BatchedSink({ write: (lines) => void writes.push(lines) }) };
}

test("lines written close together are flushed together, in order", async () => {
  const { writes, sink } = collect();
  for (const line of ["a\n", "b\n", "c\n"]) sink.write(line);
  expect(writes).toEqual([]);
  await Bun.sleep(100);
  expect(writes).toEqual(["a\nb\nc\n"]);
  sink.write("d\n");
  await Bun.sleep(100);
  expect(writes).toEqual(["a\nb\nc\n", "d\n"]);
});

test("the buffer is bounded", () => {
  const { writes, sink } = collect();
  for (let times = 0; times < 3; times++) sink.write("x".repeat(40_000));
  expect(writes.map((text) => text.length)).toEqual([80_000]);
  sink.flush();
  expect(writes.join("")).toHaveLength(120_000);
});

test("flush writes the buffered lines at once, and no line twice", async () => {
  const { writes, sink } = collect();
  sink.flush();
  sink.write("last\n");
  sink.flush();
  await Bun.sleep(60);
  expect(writes).toEqual(["last\n"]);
});
