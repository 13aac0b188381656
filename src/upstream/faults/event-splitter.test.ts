// Events however the bytes are split.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { EventSplitter } from "./event-splitter.ts";

test("events are found however the bytes are split, and no byte is lost", () => {
  const events = ["data: ü\n\n", "event: a\r\ndata: b\r\n\r\n", ": c\n\n", "data: 1\ndata: 2\n\n"];
  const bytes = Buffer.from(`${events.join("")}data: unfinished`);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (sizes) => {
      const splitter = new EventSplitter();
      const found: string[] = [];
      for (let start = 0, turn = 0; start < bytes.length; turn++) {
        const size = sizes[turn % sizes.length] ?? 1;
        for (const event of splitter.push(bytes.subarray(start, start + size)))
          found.push(Buffer.from(event).toString("utf8"));
        start += size;
      }
      expect(found).toEqual(events);
      expect(Buffer.from(splitter.end()).toString("utf8")).toBe("data: unfinished");
    }),
  );
});
