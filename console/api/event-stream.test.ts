// Server-sent events are parsed regardless of how the bytes are split into chunks.
import { expect, test } from "bun:test";
import { readEvents, type StreamEvent } from "./event-stream.ts";

const STREAM = ': hello\n\nevent: request\ndata: {"a":"ä"}\n\ndata: one\ndata: two\n\r\ndata:[DONE]\n\n';

async function readInChunks(size: number): Promise<StreamEvent[]> {
  const bytes = new TextEncoder().encode(STREAM);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });
  const events: StreamEvent[] = [];
  for await (const event of readEvents(body)) events.push(event);
  return events;
}

test.each([1, 2, 3, 7, 1000])("parses a stream in chunks of %d bytes", async (size) => {
  expect(await readInChunks(size)).toEqual([
    { event: "request", data: '{"a":"ä"}' },
    { event: "message", data: "one\ntwo" },
    { event: "message", data: "[DONE]" },
  ]);
});
