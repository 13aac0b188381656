// The events of a stream, however its bytes are split.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { EventBlocks } from "./event-blocks.ts";
import { SseParser, SseTooLargeError } from "./sse.ts";

const lineEnd = fc.constantFrom("\n", "\r\n", "\r");
const line = fc.constantFrom("data: ü", "data: 1", "event: a", ": comment", "id", "data:");
/** The last line end is a line feed: a carriage return at the end of a stream may be half of a line end. */
const stream = fc
  .array(fc.tuple(fc.oneof(line, fc.constant("")), lineEnd), { maxLength: 20 })
  .map((lines) => `${lines.map((parts) => parts.join("")).join("")}data: end\n\n`);

function split(bytes: Uint8Array, sizes: readonly number[]): { blocks: string[]; rest: string } {
  const splitter = new EventBlocks();
  const blocks: string[] = [];
  for (let start = 0, turn = 0; start < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    for (const block of splitter.push(bytes.subarray(start, start + size)))
      blocks.push(Buffer.from(block).toString("latin1"));
    start += size;
  }
  return { blocks, rest: Buffer.from(splitter.end()).toString("latin1") };
}

/** Splits after each blank line. */
function naiveSplit(text: string): string[] {
  const lines = text.match(/[^\r\n]*(?:\r\n|\r|\n)/g) ?? [];
  const blocks: string[] = [];
  let block = "";
  for (const each of lines) {
    block += each;
    if (/^[\r\n]/.test(each)) {
      blocks.push(block);
      block = "";
    }
  }
  return blocks;
}

test("end after each blank line, and no byte is lost, however the bytes are split", () => {
  fc.assert(
    fc.property(stream, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (text, sizes) => {
      const bytes = Buffer.from(text);
      const { blocks, rest } = split(bytes, sizes);
      expect(blocks).toEqual(naiveSplit(bytes.toString("latin1")));
      expect(rest).toBe("");
    }),
    { numRuns: 500 },
  );
});

test("have the events that the whole stream has", () => {
  fc.assert(
    fc.property(stream, (text) => {
      const bytes = Buffer.from(text);
      const { blocks } = split(bytes, [3]);
      const events = blocks.flatMap((block) => new SseParser().push(Buffer.from(block, "latin1")));
      expect(events).toEqual(new SseParser().push(bytes));
    }),
  );
});

test("what follows the last blank line is the rest", () => {
  expect(split(Buffer.from("data: 1\n\ndata: unfin"), [4])).toEqual({
    blocks: ["data: 1\n\n"],
    rest: "data: unfin",
  });
});

test("an event above 4 MiB is an error", () => {
  const blocks = new EventBlocks();
  const chunk = new Uint8Array(1024 * 1024).fill(0x61);
  for (let pushed = 0; pushed < 4; pushed++) blocks.push(chunk);
  expect(() => blocks.push(chunk)).toThrow(SseTooLargeError);
});
