// Log lines written together: none lost, none out of order, and not held for long.
import { expect, test } from "bun:test";
import { BatchedSink } from "./batched-sink.ts";

function collect(): { writes: string[]; sink: BatchedSink } {
  const writes: string[] = [];
  return { writes, sink: new BatchedSink({ write: (lines) => void writes.push(lines) }) };
}

test("lines of one moment are written together, soon, in their order", async () => {
  const { writes, sink } = collect();
  for (const line of ["a\n", "b\n", "c\n"]) sink.write(line);
  expect(writes).toEqual([]);
  await Bun.sleep(100);
  expect(writes).toEqual(["a\nb\nc\n"]);
  sink.write("d\n");
  await Bun.sleep(100);
  expect(writes).toEqual(["a\nb\nc\n", "d\n"]);
});

test("what is held is bounded", () => {
  const { writes, sink } = collect();
  for (let times = 0; times < 3; times++) sink.write("x".repeat(40_000));
  expect(writes.map((text) => text.length)).toEqual([80_000]);
  sink.flush();
  expect(writes.join("")).toHaveLength(120_000);
});

test("a flush writes what is held now, and nothing twice", async () => {
  const { writes, sink } = collect();
  sink.flush();
  sink.write("last\n");
  sink.flush();
  await Bun.sleep(60);
  expect(writes).toEqual(["last\n"]);
});
