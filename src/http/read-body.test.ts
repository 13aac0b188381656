// Bodies of declared and of undeclared length, over real sockets: whole, too large, silent, dripping, slow but steady.
import { afterAll, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { errorResponse, type GatehouseError } from "../base/errors.ts";
import { readBody } from "./read-body.ts";

const MAX_BYTES = 1 << 20;
const PACE_BYTES = 64 * 1024;
/** Long enough for a busy machine to send a piece in, short enough to wait for. */
const PACE_MS = 1500;

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    try {
      return new Response(String((await readBody(request, MAX_BYTES, PACE_MS)).byteLength));
    } catch (error) {
      return errorResponse(error as GatehouseError, "id");
    }
  },
});
afterAll(() => server.stop(true));

interface Sender {
  readonly socket: Socket;
  readonly answer: Promise<string>;
}

function begin(head: string): Sender {
  const socket = connect(server.port!, "127.0.0.1");
  let received = "";
  socket.on("data", (bytes) => {
    received += bytes.toString("latin1");
    if (/\r\n\r\n\S/.test(received)) socket.end();
  });
  const answer = new Promise<string>((resolve) => socket.on("close", () => resolve(received)));
  socket.on("error", () => undefined);
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n`);
  return { socket, answer };
}

const statusOf = async ({ answer }: Sender) => Number((await answer).split(" ")[1]);
const asChunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

const FRAMINGS: [
  name: string,
  head: (size: number) => string,
  frame: (text: string) => string,
  end: string,
][] = [
  ["a declared length", (size) => `Content-Length: ${size}`, (text) => text, ""],
  ["no declared length", () => "Transfer-Encoding: chunked", asChunk, "0\r\n\r\n"],
];

describe.each(FRAMINGS)("%s", (_, head, frame, end) => {
  test.each([0, 1, PACE_BYTES, PACE_BYTES + 1, 300_000, MAX_BYTES])(
    "%d bytes are read whole",
    async (size) => {
      const sender = begin(head(size));
      if (size > 0) sender.socket.write(frame("x".repeat(size)));
      sender.socket.write(end);
      expect(await sender.answer).toEndWith(`\r\n\r\n${size}`);
    },
  );

  test("more than the limit is 413", async () => {
    const sender = begin(head(MAX_BYTES + 1));
    sender.socket.write(frame("x".repeat(MAX_BYTES + 1)));
    expect(await statusOf(sender)).toBe(413);
  });
});

// All at once, since all of them take their time.
for (const [name, head, frame, end] of FRAMINGS) {
  test.concurrent.each([100, 200_000])(
    `${name}: silence is 408 and ends the connection: %d bytes`,
    async (size) => {
      const sender = begin(head(size));
      sender.socket.write(frame("some"));
      const answer = await sender.answer;
      expect(answer).toStartWith("HTTP/1.1 408");
      expect(answer).toMatch(/^connection: close\r$/im);
      expect(answer).toContain('"code":"request_timeout"');
    },
  );

  test.concurrent(`${name}: a body that drips is silence too`, async () => {
    const sender = begin(head(MAX_BYTES));
    const drip = setInterval(() => sender.socket.write(frame("x")), 50);
    expect(await statusOf(sender)).toBe(408);
    clearInterval(drip);
  });

  test.concurrent(
    `${name}: a slow body that keeps its pace may take longer than one piece of it`,
    async () => {
      const pieces = 8;
      const sender = begin(head(pieces * PACE_BYTES));
      const startedAt = performance.now();
      for (let piece = 0; piece < pieces; piece++) {
        sender.socket.write(frame("x".repeat(PACE_BYTES)));
        if (piece < pieces - 1) await Bun.sleep(250);
      }
      expect(performance.now() - startedAt).toBeGreaterThan(PACE_MS);
      sender.socket.write(end);
      expect(await sender.answer).toEndWith(`\r\n\r\n${pieces * PACE_BYTES}`);
    },
  );
}
