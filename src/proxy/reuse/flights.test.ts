// A request in progress is found by its plugin entry and key until it ends, or the store is purged.
import { expect, test } from "bun:test";
import { Flights } from "./flights.ts";
import type { LiveStream } from "./flight.ts";

type Store = Parameters<Flights["find"]>[0];

const [a, b, c] = ["a", "b", "c"].map((instanceId) => ({ instanceId, generation: "" })) as [
  Store,
  Store,
  Store,
];

test("a flight is found by entry and key until it ends, however it ends", () => {
  const flights = new Flights();
  const [one, other, foreign] = [flights.start(a, "1"), flights.start(a, "2"), flights.start(b, "1")];
  expect([flights.find(a, "1"), flights.find(a, "2"), flights.find(b, "1")]).toEqual([one, other, foreign]);
  expect([flights.find(b, "2"), flights.find(c, "1")]).toEqual([undefined, undefined]);
  one.complete(null);
  other.fail();
  expect([flights.find(a, "1"), flights.find(a, "2")]).toEqual([undefined, undefined]);
  expect(flights.find(b, "1")).toBe(foreign);
  const next = flights.start(a, "1");
  // Ends once only: the next one with its key stays.
  one.fail();
  expect(flights.find(a, "1")).toBe(next);
  next.giveUp();
  expect(flights.find(a, "1")).toBeUndefined();
});

test("a flight is not found any more when its store was purged, and its end does not end the next one", () => {
  const flights = new Flights();
  const earlier = flights.start(a, "1");
  const purged = { ...a, generation: "2" };
  expect(flights.find(purged, "1")).toBeUndefined();
  const next = flights.start(purged, "1");
  earlier.fail();
  expect(flights.find(purged, "1")).toBe(next);
});

test("a client that is always one chunk behind a stream does not keep the chunks that it has read", async () => {
  const CHUNKS = 200;
  const flight = new Flights().start(a, "1");
  const start = { status: 200, provider: "p", model: null, dropped: [], targetTag: "t", format: "openai" };
  flight.startStream(start as Parameters<typeof flight.startStream>[0], "options");
  const { reader } = (await flight.join("options", () => true).result) as LiveStream;
  // The response is too large to be kept: only its readers need the chunks.
  flight.giveUp();
  const chunks: WeakRef<Uint8Array>[] = [];
  const push = () => {
    const chunk = new Uint8Array(1000);
    chunks.push(new WeakRef(chunk));
    flight.push(chunk);
  };
  push();
  for (let read = 0; read < CHUNKS; read++) {
    push();
    expect((await reader.next())?.byteLength).toBe(1000);
  }
  // References are kept alive until the current turn of the event loop has ended.
  await new Promise((resolve) => setImmediate(resolve));
  Bun.gc(true);
  const kept = chunks.filter((chunk) => chunk.deref() !== undefined).length;
  expect(kept).toBeLessThan(CHUNKS / 4);
});
