// Bodies with and without a declared length, over real sockets: complete, too large, stalled, and slow.
import { afterAll, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { errorResponse, GatehouseError } from "../base/errors.ts";
import { readBody } from "./read-body.ts";

const MAX_BYTES = 1 << 20;
const PACE_BYTES = 64 * 1024;
/** Long enough for a busy machine to send a piece, short enough for a test. */
const PACE_MS = 1500;

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    try {
      return new Response(String((await readBody(request, MAX_BYTES, PACE_MS)).byteLength));
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
});

// Concurrent, because each of these tests waits for a timeout.
for (const [name, header, frame, end] of FRAMINGS) {
  test.concurrent.each([100, 200_000])(
    `${name}: a body that stalls is 408 and closes the connection: %d bytes`,
    async (size) => {
      const sender = begin(header(size));
      sender.socket.write(frame("some"));
      const response = await sender.response;
      expect(response).toStartWith("HTTP/1.1 408");
      expect(response).toMatch(/^connection: close\r$/im);
      expect(response).toContain('"code":"request_timeout"');
    },
  );

  test.concurrent(`${name}: a body that arrives byte by byte is 408 too`, async () => {
    const sender = begin(header(MAX_BYTES));
    const trickle = setInterval(() => sender.socket.write(frame("x")), 50);
    expect(await statusOf(sender)).toBe(408);
    clearInterval(trickle);
  });

  test.concurrent(
    `${name}: a slow body that keeps the pace may take longer than the time for one piece`,
    async () => {
      const pieces = 8;
      const sender = begin(header(pieces * PACE_BYTES));
      const startedAt = performance.now();
      for (let piece = 0; piece < pieces; piece++) {
        sender.socket.write(frame("x".repeat(PACE_BYTES)));
        if (piece < pieces - 1) await Bun.sleep(250);
      }
      expect(performance.now() - startedAt).toBeGreaterThan(PACE_MS);
      sender.socket.write(end);
      expect(await sender.response).toEndWith(`\r\n\r\n${pieces * PACE_BYTES}`);
    },
  );
}
