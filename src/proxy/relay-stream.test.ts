// An answer on its way to a client over real sockets: all of it comes, at the client's pace, and one that takes nothing
// is given up.
import { afterAll, beforeEach, expect, test } from "bun:test";
import { connectRaw, type RawClient } from "../../test/support/raw-client.ts";
import { waitFor } from "../../test/support/gatehouse-process.ts";
import type { BodyReader } from "../http/body-reader.ts";
import type { Outcome } from "./exchange.ts";
import { StreamRelay, type StreamPasses } from "./relay-stream.ts";
import { formatNamed } from "../formats/registry.ts";
import { UsageTap } from "../usage/usage-tap.ts";

const PIECE = 64 * 1024;
/** More than the buffers of two systems hold. */
const PIECES = 400;
const SHORT_MS = 100;
const LONG_MS = 60_000;

/** A provider that has as many pieces as are asked of it. */
class Pieces implements BodyReader {
  given = 0;
  isCancelled = false;
  readonly #pieces: number;
  readonly #atEnd: () => Promise<null>;

  constructor(pieces: number, atEnd: () => Promise<null>) {
    this.#pieces = pieces;
    this.#atEnd = atEnd;
  }

  next(): Promise<Uint8Array | null> {
    if (this.isCancelled) return Promise.reject(new Error("cancelled"));
    if (this.given === this.#pieces) return this.#atEnd();
    return Promise.resolve(new Uint8Array(PIECE).fill(this.given++ % 256));
  }

  peek(): Promise<Uint8Array | null> {
    return this.next();
  }

  cancel(): void {
    this.isCancelled = true;
  }
}

const NO_PASSES: StreamPasses = { tap: null, translation: null, plugins: null, bodies: null };
let passes = NO_PASSES;
let outcomes: Outcome[] = [];
let pieces: Pieces;
let stalledMs = LONG_MS;
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 0,
  fetch: () =>
    new Response(
      new ReadableStream(
        new StreamRelay(pieces, passes, (outcome) => void outcomes.push(outcome), stalledMs),
      ),
    ),
});
afterAll(() => server.stop(true));
beforeEach(() => {
  outcomes = [];
  stalledMs = LONG_MS;
  passes = NO_PASSES;
});

async function ask(): Promise<RawClient> {
  const client = await connectRaw(server.port!);
  client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  return client;
}

/** Until the provider has not been asked for anything for a while. */
async function untilQuiet(): Promise<number> {
  for (let before = -1; ;) {
    if (before === pieces.given) return before;
    before = pieces.given;
    await Bun.sleep(200);
  }
}

const bodyOf = (received: string) => Buffer.from(received.slice(received.indexOf("\r\n\r\n") + 4), "latin1");

test("a client that pauses is waited for, and gets every byte when it goes on", async () => {
  pieces = new Pieces(PIECES, () => Promise.resolve(null));
  const client = await ask();
  client.pause();
  expect(await untilQuiet()).toBeLessThan(PIECES);
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
}, 30_000);

test("a client that takes nothing is given up: its provider let go of, its connection broken off", async () => {
  stalledMs = SHORT_MS;
  pieces = new Pieces(PIECES, () => Promise.resolve(null));
  const client = await ask();
  client.pause();
  await waitFor(() => (pieces.isCancelled ? true : null), 10_000);
  expect(outcomes).toEqual(["client_left"]);
  client.resume();
  expect((await client.ended).received).not.toEndWith("0\r\n\r\n");
}, 30_000);

test("a client that waits for the provider has not stalled", async () => {
  stalledMs = SHORT_MS;
  const end = Promise.withResolvers<null>();
  pieces = new Pieces(1, () => end.promise);
  const client = await ask();
  await client.until((received) => received.length > PIECE);
  await Bun.sleep(5 * SHORT_MS);
  expect([pieces.isCancelled, outcomes]).toEqual([false, []]);
  end.resolve(null);
  expect((await client.ended).received).toEndWith("0\r\n\r\n");
  expect(outcomes).toEqual(["complete"]);
});

test("a client that leaves while it is waited for, or while the provider is: once, and nothing goes on", async () => {
  for (const count of [PIECES, 1]) {
    outcomes = [];
    pieces = new Pieces(count, () => new Promise(() => undefined));
    const client = await ask();
    if (count > 1) client.pause();
    await untilQuiet();
    client.leave(true);
    await waitFor(() => (pieces.isCancelled ? true : null), 10_000);
    const { given } = pieces;
    await Bun.sleep(100);
    expect([outcomes, pieces.given]).toEqual([["client_left"], given]);
  }
}, 30_000);

test("a provider that breaks off: what came of it arrives, then the connection breaks", async () => {
  pieces = new Pieces(3, () => Promise.reject(new Error("cut")));
  const { received } = await (await ask()).ended;
  expect(bodyOf(received).byteLength).toBe(3 * (PIECE + "10000\r\n\r\n".length));
  expect([outcomes, pieces.isCancelled]).toEqual([["incomplete"], true]);
});

test("a client that leaves over the last bytes of a stream that broke off: it broke off, and nothing else happens", async () => {
  class HoldingTap extends UsageTap {
    override abort(): Uint8Array {
      return new Uint8Array(PIECES * PIECE);
    }
  }
  passes = { ...NO_PASSES, tap: new HoldingTap({ usageReader: formatNamed("openai").usage, isChat: true }) };
  pieces = new Pieces(1, () => Promise.reject(new Error("cut")));
  const client = await ask();
  client.pause();
  await waitFor(() => (outcomes.length > 0 ? true : null), 10_000);
  client.leave(true);
  await Bun.sleep(100);
  expect([outcomes, pieces.isCancelled]).toEqual([["incomplete"], true]);
});
