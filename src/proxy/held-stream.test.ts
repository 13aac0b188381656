// Holding the start of a stream: nothing is lost or changed, whatever the pieces are, and what is held is bounded.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { eventLoopTurns } from "../../test/support/waiting.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { formatNamed } from "../formats/registry.ts";
import type { BodyReader } from "../http/body-reader.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import { HeldStream, HOLD_UNTIL_CONTENT } from "./held-stream.ts";

const { openingOf } = formatNamed("openai");
const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const choice = (delta: object) => event({ choices: [{ index: 0, delta, finish_reason: null }] });
const QUIET = choice({ role: "assistant", content: "" });
const CONTENT = choice({ content: "text" });
const ERROR = event({ error: { message: "overloaded" } });

function readerOf(pieces: readonly Uint8Array[]): BodyReader {
  const rest = [...pieces];
  const next = () => Promise.resolve(rest.shift() ?? null);
  return { next, peek: () => Promise.resolve(rest[0] ?? null), cancel: () => (rest.length = 0) };
}

async function readAll(stream: BodyReader): Promise<string> {
  const parts: Uint8Array[] = [];
  for (let part = await stream.next(); part !== null; part = await stream.next()) parts.push(part);
  return Buffer.concat(parts).toString();
}

/** Splits a text at random places. */
const piecesOf = (text: string, cuts: readonly number[]) => {
  const bytes = Buffer.from(text);
  const places = [0, ...cuts.map((cut) => cut % (bytes.byteLength + 1)), bytes.byteLength].sort(
    (a, b) => a - b,
  );
  return places.slice(1).flatMap((end, at) => {
    const piece = bytes.subarray(places[at], end);
    return piece.byteLength === 0 ? [] : [piece];
  });
};

const eventsArb = fc.array(fc.constantFrom(QUIET, ": ping\n\n", CONTENT, ERROR), { maxLength: 12 });

test("property: fails if an error or the end precedes the first content, else returns all bytes in order", async () => {
  await fc.assert(
    fc.asyncProperty(eventsArb, fc.array(fc.nat(2000), { maxLength: 20 }), async (events, cuts) => {
      const text = events.join("");
      const held = new HeldStream(readerOf(piecesOf(text, cuts)), openingOf, () => undefined);
      const [content, error] = [events.indexOf(CONTENT), events.indexOf(ERROR)];
      const hasContentFirst = content >= 0 && (error < 0 || content < error);
      const kind = error >= 0 ? "error_event" : "empty_stream";
      const outcome = await held.hold(HOLD_UNTIL_CONTENT, new ManualClock()).then(
        () => "held",
        (cause: unknown) => (cause instanceof UpstreamError ? cause.kind : cause),
      );
      expect(outcome).toBe(hasContentFirst ? "held" : kind);
      if (!hasContentFirst) return;
      // All of the stream is held afterwards, and still returned.
      if (cuts.length % 2 === 0) await held.holdRest(new ManualClock());
      expect(await readAll(held)).toBe(text);
    }),
    { numRuns: 100 },
  );
});

test("bytes that arrive one by one are held as few pieces", async () => {
  const text = ": ping\n\n".repeat(500) + CONTENT;
  const held = new HeldStream(readerOf(piecesOf(text, [...Buffer.from(text).keys()])), openingOf, () => 0);
  await held.hold(HOLD_UNTIL_CONTENT, new ManualClock());
  expect(held.held.length).toBeLessThan(300);
  expect(await readAll(held)).toBe(text);
});

test("at most 1 MiB without content is held; then the stream is relayed", async () => {
  const pings = Array.from({ length: 40 }, () => Buffer.from(": ping\n\n".repeat(8192)));
  const held = new HeldStream(readerOf(pings), openingOf, () => undefined);
  await held.hold(HOLD_UNTIL_CONTENT, new ManualClock());
  expect(Buffer.concat(held.held).byteLength).toBe(1024 * 1024);
  expect(await readAll(held)).toBe(Buffer.concat(pings).toString());
});

test("an event that is too large to be parsed counts as content, and is relayed unchanged", async () => {
  const image = event({ type: "image", data: "A".repeat(5 * 1024 * 1024) });
  const pieces = piecesOf(
    QUIET + image + CONTENT,
    [...Array(90).keys()].map((at) => at * 65_536),
  );
  let contents = 0;
  const held = new HeldStream(readerOf(pieces), openingOf, () => contents++);
  await held.hold({ max_ms: 60_000, max_bytes: 16_384 }, new ManualClock());
  expect(await readAll(held)).toBe(QUIET + image + CONTENT);
  expect(contents).toBe(1);
});

test("the rest of a stream is held for a second, and a later part is read as usual", async () => {
  const late = Promise.withResolvers<Uint8Array>();
  const parts = [Promise.resolve(Buffer.from(CONTENT)), Promise.resolve(Buffer.from(QUIET)), late.promise];
  const next = async () => (await parts.shift()) ?? null;
  const held = new HeldStream({ next, peek: next, cancel: () => undefined }, openingOf, () => undefined);
  const clock = new ManualClock();
  await held.hold(HOLD_UNTIL_CONTENT, clock);
  const rest = held.holdRest(clock);
  await eventLoopTurns();
  clock.advance(1000);
  await rest;
  expect(Buffer.concat(held.held).toString()).toBe(CONTENT + QUIET);
  late.resolve(Buffer.from(ERROR));
  expect(await readAll(held)).toBe(CONTENT + QUIET + ERROR);
});
