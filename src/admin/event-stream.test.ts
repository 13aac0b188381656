// A lasting stream of events: a slow reader costs a bounded queue and is told what it missed; leaving is noticed.
import { expect, test } from "bun:test";
import { EventStream, MAX_QUEUED, MAX_QUEUED_CHARACTERS } from "./event-stream.ts";

type Reader = Pick<ReadableStreamDefaultReader<Uint8Array>, "read" | "cancel">;

function open(): {
  stream: EventStream;
  closes: () => number;
  reader: Reader;
} {
  let closes = 0;
  const stream = new EventStream(() => closes++);
  const body = stream.response().body as ReadableStream<Uint8Array>;
  return { stream, closes: () => closes, reader: body.getReader() as unknown as Reader };
}

async function read(reader: Reader): Promise<string | null> {
  const { done, value } = await reader.read();
  return done ? null : new TextDecoder().decode(value);
}

test("events come as they are sent; a comment opens the stream", async () => {
  const { stream, reader } = open();
  expect(await read(reader)).toBe(":\n\n");
  const waiting = read(reader);
  stream.send("request", '{"n":1}');
  expect(await waiting).toBe('event: request\ndata: {"n":1}\n\n');
  await reader.cancel();
});

test("for one who does not read only so many are kept, the newest, and the loss is told", async () => {
  const { stream, reader } = open();
  for (let index = 0; index < MAX_QUEUED + 100; index++) stream.send("request", String(index));
  const text = (await read(reader)) ?? "";
  const events = text.split("\n\n").filter((event) => event.startsWith("event: request"));
  expect(events).toHaveLength(MAX_QUEUED);
  expect(events.at(-1)).toBe(`event: request\ndata: ${MAX_QUEUED + 99}`);
  const dropped = Number(/event: dropped\ndata: \{"count":(\d+)\}/.exec(text)?.[1]);
  // The comment that opened the stream is among them.
  expect(dropped).toBe(101);
  await reader.cancel();
});

test("large events are bounded by their size too", async () => {
  const { stream, reader } = open();
  const large = "x".repeat(MAX_QUEUED_CHARACTERS / 4);
  for (let index = 0; index < 10; index++) stream.send("request", `${index} ${large}`);
  const text = (await read(reader)) ?? "";
  expect(text.length).toBeLessThan(MAX_QUEUED_CHARACTERS * 1.1);
  expect([...text.matchAll(/data: (\d) x/g)].map(([, index]) => index)).toEqual(["7", "8", "9"]);
  await reader.cancel();
});

test("it ends when told to, once what was sent is read; and when the reader leaves", async () => {
  const ended = open();
  ended.stream.send("request", "last");
  ended.stream.end();
  ended.stream.send("request", "too late");
  expect(await read(ended.reader)).toContain("data: last");
  expect(await read(ended.reader)).toBeNull();
  expect(ended.closes()).toBe(1);

  const left = open();
  await read(left.reader);
  const waiting = read(left.reader);
  await left.reader.cancel();
  expect(await waiting).toBeNull();
  expect(left.closes()).toBe(1);
});
