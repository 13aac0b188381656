// EventStream: events, the bounded queue for slow readers, and the end of the stream.
import { expect, test } from "bun:test";
import { EventStream, MAX_QUEUED, MAX_QUEUED_CHARACTERS } from "./event-stream.ts";

type Reader = Pick<ReadableStreamDefaultReader<Uint8Array>, "read" | "cancel">;

function open(): {
  stream: EventStream;
  closes: () => number;
  reader: Reader;
} {
  let closes = 0;
  const stream = new EventStream(
    () => closes++,
    () => Promise.resolve(true),
  );
  const body = stream.response().body as ReadableStream<Uint8Array>;
  return { stream, closes: () => closes, reader: body.getReader() as unknown as Reader };
}

async function read(reader: Reader): Promise<string | null> {
  const { done, value } = await reader.read();
  return done ? null : new TextDecoder().decode(value);
}

test("starts with a comment and then delivers events as they are sent", async () => {
  const { stream, reader } = open();
  expect(await read(reader)).toBe(":\n\n");
  const waiting = read(reader);
  stream.send("request", '{"n":1}');
  expect(await waiting).toBe('event: request\ndata: {"n":1}\n\n');
  await reader.cancel();
});

test("keeps the newest events for a client that does not read, and counts the dropped ones", async () => {
  const { stream, reader } = open();
  for (let index = 0; index < MAX_QUEUED + 100; index++) stream.send("request", String(index));
  const text = (await read(reader)) ?? "";
  const events = text.split("\n\n").filter((event) => event.startsWith("event: request"));
  expect(events).toHaveLength(MAX_QUEUED);
  expect(events.at(-1)).toBe(`event: request\ndata: ${MAX_QUEUED + 99}`);
  const dropped = Number(/event: dropped\ndata: \{"count":(\d+)\}/.exec(text)?.[1]);
  // The comment at the start of the stream is dropped as well.
  expect(dropped).toBe(101);
  await reader.cancel();
});

test("limits the size of the queued events", async () => {
  const { stream, reader } = open();
  const large = "x".repeat(MAX_QUEUED_CHARACTERS / 4);
  for (let index = 0; index < 10; index++) stream.send("request", `${index} ${large}`);
  const text = (await read(reader)) ?? "";
  expect(text.length).toBeLessThan(MAX_QUEUED_CHARACTERS * 1.1);
  expect([...text.matchAll(/data: (\d) x/g)].map(([, index]) => index)).toEqual(["7", "8", "9"]);
  await reader.cancel();
});

test("ends after the queued events are read, or when the client disconnects", async () => {
  const ended = open();
  ended.stream.send("request", "last");
  ended.stream.end();
  ended.stream.send("request", "too late");
  expect(await read(ended.reader)).toContain("data: last");
  expect(await read(ended.reader)).toBeNull();
  expect(ended.closes()).toBe(1);

  const disconnected = open();
  await read(disconnected.reader);
  const waiting = read(disconnected.reader);
  await disconnected.reader.cancel();
  expect(await waiting).toBeNull();
  expect(disconnected.closes()).toBe(1);
});
