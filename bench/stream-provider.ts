// The provider of the stream benchmark: raw TCP, one event every 50 ms on every stream, each with the time of its sending.
// `bun stream-provider.ts PORT [ms]`. GET /finish ends all streams in an orderly way and returns the number of events sent.
import { DONE, STAMP_MARK, wallMicroseconds } from "./stream-events.ts";

const [port = "0", interval = "50"] = process.argv.slice(2);
const EVENT_EVERY_MS = Number(interval);

interface Stream {
  slot: number;
  /** Bytes that the socket did not accept. While there are any, events for this stream are skipped. */
  pending: Uint8Array | null;
}

const HEAD = Buffer.from(
  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n",
);
const END = Buffer.from(`${framed(`data: ${DONE}\n\n`)}0\r\n\r\n`);

/** One buffer for all streams; only the time in it changes. */
const event = Buffer.from(
  framed(
    'data: {"id":"chatcmpl-0123456789","object":"chat.completion.chunk","created":1760000000,"model":"gpt-4o-mini",' +
      `"system_fingerprint":"${STAMP_MARK}${"0".repeat(16)}","choices":[{"index":0,"delta":{"content":" harbour"},` +
      '"finish_reason":null}]}\n\n',
  ),
);
const stampAt = event.indexOf(STAMP_MARK) + 1;

function framed(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

/** Streams are distributed over the interval, like those of many clients. */
const slots = Array.from({ length: EVENT_EVERY_MS }, () => new Set<Bun.Socket<Stream>>());
let nextSlot = 0;
let [sent, skipped] = [0, 0];

function send(socket: Bun.Socket<Stream>, bytes: Uint8Array): void {
  const written = socket.write(bytes);
  if (written < bytes.byteLength) socket.data.pending = Buffer.from(bytes.subarray(Math.max(0, written)));
}

function sendEvents(slot: Set<Bun.Socket<Stream>>): void {
  for (const socket of slot) {
    if (socket.data.pending !== null) {
      skipped++;
      continue;
    }
    event.write(String(wallMicroseconds()), stampAt, "latin1");
    sent++;
    send(socket, event);
  }
}

function begin(socket: Bun.Socket<Stream>): void {
  socket.data.slot = nextSlot++ % slots.length;
  event.write(String(wallMicroseconds()), stampAt, "latin1");
  sent++;
  send(socket, Buffer.concat([HEAD, event]));
  slots[socket.data.slot]?.add(socket);
}

function finishAll(): string {
  let streams = 0;
  for (const slot of slots) {
    for (const socket of slot) {
      const { pending } = socket.data;
      if (pending === null) send(socket, END);
      else socket.data.pending = Buffer.concat([pending, END]);
      streams++;
    }
    slot.clear();
  }
  const counts = JSON.stringify({ streams, sent, skipped });
  [sent, skipped] = [0, 0];
  return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${counts.length}\r\n\r\n${counts}`;
}

Bun.listen<Stream>({
  hostname: "127.0.0.1",
  port: Number(port),
  socket: {
    open: (socket) => void (socket.data = { slot: 0, pending: null }),
    data(socket, bytes) {
      // "P" starts a POST, "G" a GET. A body may arrive separately; it starts with a brace.
      if (bytes[0] === 0x50) begin(socket);
      else if (bytes[0] === 0x47) socket.write(finishAll());
    },
    drain(socket) {
      const { pending } = socket.data;
      socket.data.pending = null;
      if (pending !== null) send(socket, pending);
    },
    close: (socket) => void slots[socket.data.slot]?.delete(socket),
    error: () => undefined,
  },
});

let due = 0;
const startedAt = performance.now();
setInterval(() => {
  const now = performance.now() - startedAt;
  // If the provider is late by more than one interval, it skips events, so that new connections are still accepted.
  for (; now - due > slots.length; due++) skipped += slots[due % slots.length]?.size ?? 0;
  for (; due < now; due++) sendEvents(slots[due % slots.length] as Set<Bun.Socket<Stream>>);
}, 1);
