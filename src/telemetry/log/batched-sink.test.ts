// Log lines are written in batches, in order, without loss and with a short delay.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { LineWriter } from "../../http/line-writer.ts";
import { anyCharacter } from "../../../test/support/characters.ts";
import { ManualClock } from "../../base/manual-clock.fixture.ts";
import { BatchedSink } from "./batched-sink.ts";

const DELAY_MS = 20;

function collect(): { writes: string[]; sink: BatchedSink; clock: ManualClock } {
  const writes: string[] = [];
  const clock = new ManualClock();
  const stream = { write: (lines: Uint8Array) => void writes.push(Buffer.from(lines).toString()) };
  return { writes, sink: new BatchedSink(stream, clock), clock };
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

test("lines of any length, as strings and as bytes, are written completely and in order", () => {
  const long = fc.nat(150_000).map((length) => "é".repeat(length));
  const line = fc.record({
    text: fc.oneof(
      { weight: 5, arbitrary: fc.string({ unit: anyCharacter }) },
      { weight: 1, arbitrary: long },
    ),
    isString: fc.boolean(),
    isFlushed: fc.nat(9).map((number) => number === 0),
  });
  fc.assert(
    fc.property(fc.array(line, { maxLength: 20 }), (lines) => {
      const { writes, sink } = collect();
      const writer = new LineWriter();
      for (const { text, isString, isFlushed } of lines) {
        if (isString) sink.write(text);
        else {
          writer.constant(Buffer.from(text));
          sink.writeBytes(writer);
        }
        if (isFlushed) sink.flush();
      }
      sink.flush();
      expect(writes.join("")).toBe(lines.map(({ text }) => text.toWellFormed()).join(""));
    }),
    { numRuns: 200 },
  );
});

test("lines that a stream has not written yet do not change", () => {
  const kept: Uint8Array[] = [];
  const sink = new BatchedSink({ write: (lines) => void kept.push(lines) }, new ManualClock());
  for (const line of ["first\n", "second\n"]) {
    sink.write(line);
    sink.flush();
  }
  expect(kept.map((lines) => Buffer.from(lines).toString())).toEqual(["first\n", "second\n"]);
});
