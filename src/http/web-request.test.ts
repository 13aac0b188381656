// Bodies with and without a declared length: complete and too large ones over real sockets, stalled and slow ones.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { eventLoopTurns, waitUntil } from "../../test/support/waiting.ts";
import { errorResponse } from "../base/error-response.ts";
import { GatehouseError } from "../base/errors.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { BodyBudget } from "./body-budget.ts";
import { CoarseDeadlines } from "./coarse-deadlines.ts";
import type { BodyLimits } from "./incoming-body.ts";
import { readWebBody } from "./web-request.ts";

const MAX_BYTES = 1 << 20;
const PACE_BYTES = 64 * 1024;
const PACE_MS = 60_000;

let clock: ManualClock;
let limits: BodyLimits;
beforeEach(() => {
  clock = new ManualClock();
  const bodyBudget = new BodyBudget(8 * MAX_BYTES, clock);
  limits = { maxBodyBytes: MAX_BYTES, deadlines: new CoarseDeadlines(clock), bodyBudget };
});

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    try {
      return new Response(String((await readWebBody(request, limits)).byteLength));
    } catch (error) {
      if (!(error instanceof GatehouseError)) throw error;
      return errorResponse(error, "id");
    }
  },
});
afterAll(() => server.stop(true));

interface Sender {
  readonly socket: Socket;
  /** Everything that the server sent until it closed the connection. */
  readonly response: Promise<string>;
}

function begin(header: string): Sender {
  const socket = connect(server.port!, "127.0.0.1");
  let received = "";
  socket.on("data", (bytes) => {
    received += bytes.toString("latin1");
    if (/\r\n\r\n\S/.test(received)) socket.end();
  });
  const response = new Promise<string>((resolve) => socket.on("close", () => resolve(received)));
  socket.on("error", () => undefined);
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`);
  return { socket, response };
}

const statusOf = async ({ response }: Sender) => Number((await response).split(" ")[1]);
const asChunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

const FRAMINGS: [
  name: string,
  header: (size: number) => string,
  frame: (text: string) => string,
  end: string,
][] = [
  ["a declared length", (size) => `Content-Length: ${size}`, (text) => text, ""],
  ["no declared length", () => "Transfer-Encoding: chunked", asChunk, "0\r\n\r\n"],
];

describe.each(FRAMINGS)("%s", (_, header, frame, end) => {
  test.each([0, 1, PACE_BYTES, PACE_BYTES + 1, 300_000, MAX_BYTES])(
    "%d bytes are read completely",
    async (size) => {
      const sender = begin(header(size));
      if (size > 0) sender.socket.write(frame("x".repeat(size)));
      sender.socket.write(end);
      expect(await sender.response).toEndWith(`\r\n\r\n${size}`);
    },
  );

  test("more than the limit is 413", async () => {
    const sender = begin(header(MAX_BYTES + 1));
    sender.socket.write(frame("x".repeat(MAX_BYTES + 1)));
    expect(await statusOf(sender)).toBe(413);
  });

  test.each([100, 200_000])("a body that stalls is 408 and closes the connection: %d bytes", async (size) => {
    const sender = begin(header(size));
    sender.socket.write(frame("some"));
    await waitUntil(() => clock.timerCount > 0);
    clock.advance(PACE_MS);
    const response = await sender.response;
    expect(response).toStartWith("HTTP/1.1 408");
    expect(response).toMatch(/^connection: close\r$/im);
    expect(response).toContain('"code":"request_timeout"');
  });
});

describe.each([
  ["a declared length", { "Content-Length": String(MAX_BYTES) }],
  ["no declared length", {}],
])("the pace of a body with %s", (_, headers) => {
  /** Starts to read a body whose pieces the test sends. Each piece has been read when `send` resolves. */
  function beginReading() {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const request = new Request("http://gateway/", { method: "POST", headers, body: readable });
    const read = readWebBody(request, limits);
    const send = async (bytes: number) => {
      await writer.write(new Uint8Array(bytes));
      await eventLoopTurns();
    };
    return { read, send, end: () => writer.close() };
  }

  test("a body that arrives byte by byte times out", async () => {
    const { read, send } = beginReading();
    const result = read.catch((error: unknown) => error);
    for (let second = 0; second < PACE_MS / 1000; second++) {
      await send(1);
      clock.advance(1000);
    }
    expect(await result).toMatchObject({ code: "request_timeout", status: 408 });
  });

  test("a slow body that keeps the pace may take longer than the time for one piece", async () => {
    const { read, send, end } = beginReading();
    const pieces = 8;
    for (let piece = 0; piece < pieces; piece++) {
      await send(PACE_BYTES);
      clock.advance(PACE_MS - 1000);
    }
    await end();
    expect((await read).byteLength).toBe(pieces * PACE_BYTES);
  });
});
