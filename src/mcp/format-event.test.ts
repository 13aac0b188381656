import { afterAll, describe, expect, test } from "bun:test";
import { OffLoop } from "../off-loop/off-loop.ts";
import { McpEventParser } from "./event-stream.ts";
import { formatEvent } from "./format-event.ts";

const offLoop = new OffLoop({ maxThreads: 1 });
afterAll(() => offLoop.close());
const parts = { offLoop, tenant: "g" };

async function reread(...written: Parameters<typeof formatEvent>[0][]) {
  const parser = new McpEventParser(10_000_000);
  const events = [];
  for (const each of written) events.push(...parser.push(await formatEvent(each, parts)));
  return events.map((event) => ({ ...event, data: Buffer.from(event.data).toString() }));
}

test("a written event is read again", async () => {
  expect(await reread({ data: '{"a":1}', id: "x~1", retry: 500 }, { data: "", id: "y" })).toEqual([
    { id: "x~1", retry: 500, data: '{"a":1}' },
    { id: "y", retry: null, data: "" },
  ]);
});

describe("JSON in several lines is one line of an event", () => {
  const json = '{\r\n  "a": [1,\n"é"]\n}';

  test("as text and as bytes, which stay as they are", async () => {
    const bytes = Buffer.from(json);
    for (const data of [json, bytes]) {
      const [event] = await reread({ data });
      expect(event?.data).toBe('{    "a": [1, "é"] }');
    }
    expect(bytes.toString()).toBe(json);
  });

  test("in a worker thread, if it is large", async () => {
    const large = `[${`${json},\n`.repeat(50_000)}0]`;
    const before = offLoop.counts.completed;
    const [event, ...others] = await reread({ data: Buffer.from(large) });
    expect(others).toEqual([]);
    expect(event?.data).toBe(large.replaceAll(/[\r\n]/g, " "));
    expect(offLoop.counts.completed).toBe(before + 1);
  });

  test("large JSON without line breaks needs no thread", async () => {
    const before = offLoop.counts.completed;
    const [event] = await reread({ data: Buffer.from(`["${"x".repeat(1_000_000)}"]`) });
    expect(event?.data).toHaveLength(1_000_004);
    expect(offLoop.counts.completed).toBe(before);
  });
});
