// Relays bodies to clients over real sockets: every byte arrives, at the client's pace, and a client that reads nothing is
// disconnected.
import { afterAll, beforeEach, expect, test } from "bun:test";
import { connectRaw, type RawClient } from "../../test/support/raw-client.ts";
import { untilStable, waitUntil } from "../../test/support/waiting.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import type { BodyReader } from "../http/body-reader.ts";
import { CoarseDeadlines } from "../http/coarse-deadlines.ts";
import { HttpServer } from "../http/server/http-server.ts";
import { OutgoingResponse } from "../http/server/outgoing-response.ts";
import type { Outcome } from "../telemetry/requests/request-facts.ts";
import { StreamRelay, type StreamStages } from "./relay-stream.ts";
import { formatNamed } from "../formats/registry.ts";
import { StreamTranslation } from "../formats/stream-translation.ts";
import { NO_CONTEXT } from "../formats/translator.ts";
import { UsageTap } from "../usage/usage-tap.ts";

const PIECE = 64 * 1024;
/** More than the socket buffers of both sides hold. */
const PIECES = 400;
/** How long a client may read nothing. */
const STALL_TIMEOUT_MS = 300_000;

/** A provider that sends `pieces` pieces and then does what `atEnd` says. */
class Pieces implements BodyReader {
  sentCount = 0;
  isCanceled = false;
  readonly #pieces: number;
  readonly #atEnd: () => Promise<null>;

  constructor(pieces: number, atEnd: () => Promise<null>) {
    this.#pieces = pieces;
    this.#atEnd = atEnd;
  }

  next(): Promise<Uint8Array | null> {
    if (this.isCanceled) return Promise.reject(new Error("canceled"));
    if (this.sentCount === this.#pieces) return this.#atEnd();
    return Promise.resolve(new Uint8Array(PIECE).fill(this.sentCount++ % 256));
  }

  peek(): Promise<Uint8Array | null> {
    return this.next();
  }

  cancel(): void {
    this.isCanceled = true;
  }
}

const NO_STAGES: StreamStages = {
  tap: null,
  translation: null,
  recording: null,
  ids: null,
  plugins: null,
  shadow: null,
  bodies: null,
  hidesBodies: false,
  firstContent: null,
};
let stages = NO_STAGES;
let outcomes: Outcome[] = [];
let pieces: Pieces;
const clock = new ManualClock();
const deadlines = new CoarseDeadlines(clock);
const server = new HttpServer({
  hostname: "127.0.0.1",
  port: 0,
  reusePort: false,
  deadlines,
  handle: () =>
    Promise.resolve(
      new OutgoingResponse(
        new StreamRelay(pieces, stages, (outcome) => void outcomes.push(outcome), deadlines),
      ),
    ),
});
afterAll(() => server.stop(true));
beforeEach(() => {
  outcomes = [];
  stages = NO_STAGES;
});

async function connect(): Promise<RawClient> {
  const client = await connectRaw(server.port);
  client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  return client;
}

/** Resolves when the socket buffers are full and the relay waits for the client, to the number of pieces read. */
const untilFull = () => untilStable(() => pieces.sentCount);
/** Resolves when the server has ended every response. */
const untilIdle = () => waitUntil(() => server.connectionCount === 0);

const bodyOf = (received: string) => Buffer.from(received.slice(received.indexOf("\r\n\r\n") + 4), "latin1");

test("waits for a client that pauses, which gets every byte when it resumes", async () => {
  pieces = new Pieces(PIECES, () => Promise.resolve(null));
  const client = await connect();
  client.pause();
  expect(await untilFull()).toBeLessThan(PIECES);
  expect(outcomes).toEqual([]);
  client.resume();
  const body = bodyOf((await client.ended).received);
  expect(outcomes).toEqual(["complete"]);
  let at = 0;
  for (let piece = 0; piece < PIECES; piece++) {
    const end = body.indexOf("\r\n", at);
    expect(Number.parseInt(body.toString("latin1", at, end), 16)).toBe(PIECE);
    const content = body.subarray(end + 2, end + 2 + PIECE);
    expect(content.every((byte) => byte === piece % 256)).toBe(true);
    at = end + 2 + PIECE + 2;
  }
  expect(body.toString("latin1", at)).toBe("0\r\n\r\n");
}, 60_000);

test("gives up a client that does not read: releases the provider and resets the connection", async () => {
  pieces = new Pieces(PIECES, () => Promise.resolve(null));
  const client = await connect();
  client.pause();
  await untilFull();
  clock.advance(STALL_TIMEOUT_MS - 1000);
  expect(outcomes).toEqual([]);
  clock.advance(2000);
  expect([outcomes, pieces.isCanceled]).toEqual([["client_left"], true]);
  client.resume();
  expect((await client.ended).received).not.toEndWith("0\r\n\r\n");
}, 60_000);

test("does not take a client that waits for the provider for a stalled one", async () => {
  const end = Promise.withResolvers<null>();
  pieces = new Pieces(1, () => end.promise);
  const client = await connect();
  await client.until((received) => received.length > PIECE);
  clock.advance(2 * STALL_TIMEOUT_MS);
  expect([pieces.isCanceled, outcomes]).toEqual([false, []]);
  end.resolve(null);
  expect((await client.ended).received).toEndWith("0\r\n\r\n");
  expect(outcomes).toEqual(["complete"]);
});

test("ends once and stops reading if the client disconnects while the relay waits for it or for the provider", async () => {
  for (const count of [PIECES, 1]) {
    outcomes = [];
    pieces = new Pieces(count, () => new Promise(() => undefined));
    const client = await connect();
    if (count > 1) client.pause();
    await untilFull();
    client.disconnect(true);
    await waitUntil(() => pieces.isCanceled);
    const { sentCount } = pieces;
    await untilIdle();
    expect([outcomes, pieces.sentCount]).toEqual([["client_left"], sentCount]);
  }
}, 60_000);

test("relays what a provider sent before it closed the connection, then resets the client's connection", async () => {
  pieces = new Pieces(3, () => Promise.reject(new Error("cut")));
  const { received } = await (await connect()).ended;
  expect(bodyOf(received).byteLength).toBe(3 * (PIECE + "10000\r\n\r\n".length));
  expect([outcomes, pieces.isCanceled]).toEqual([["incomplete"], true]);
});

test("ends once as incomplete if the client disconnects while it gets the last bytes of a cut stream", async () => {
  class HoldingTap extends UsageTap {
    override abort(): Uint8Array {
      return new Uint8Array(PIECES * PIECE);
    }
  }
  stages = {
    ...NO_STAGES,
    tap: new HoldingTap({ usageReader: formatNamed("openai").usage, isChat: true, details: null }),
  };
  pieces = new Pieces(1, () => Promise.reject(new Error("cut")));
  const client = await connect();
  client.pause();
  await waitUntil(() => outcomes.length > 0);
  client.disconnect(true);
  await untilIdle();
  expect([outcomes, pieces.isCanceled]).toEqual([["incomplete"], true]);
});

test("a translated stream gets a comment at least every 5 seconds while it has nothing to send", async () => {
  const end = Promise.withResolvers<null>();
  pieces = new Pieces(0, () => end.promise);
  const { outbound } = formatNamed("anthropic");
  const { inbound } = formatNamed("openai");
  if (inbound === null) throw new Error("chat clients have no translator");
  const translation = new StreamTranslation(outbound, inbound, { createdAt: 1, targetTag: "t" }, NO_CONTEXT);
  stages = { ...NO_STAGES, translation };
  const client = await connect();
  const comments = () => client.received().split(": keep-alive\n\n").length - 1;
  await client.until((received) => received.includes("\r\n\r\n"));
  for (let count = 1; count <= 3; count++) {
    clock.advance(5000);
    await waitUntil(() => comments() >= count);
  }
  expect(outcomes).toEqual([]);
  end.resolve(null);
  await client.ended;
});
