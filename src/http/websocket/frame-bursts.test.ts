// Many small frames that arrive, or are sent, at the same time.
import { expect, test } from "bun:test";
import { waitUntil } from "../../../test/support/waiting.ts";
import { ManualClock } from "../../base/manual-clock.fixture.ts";
import { BodyBudget } from "../body-budget.ts";
import { CoarseDeadlines } from "../coarse-deadlines.ts";
import { SwitchedConnection } from "../server/switched-connection.ts";
import { SocketSender } from "../socket-sender.ts";
import { encodeFrame, OPCODE } from "./frames.ts";
import type { ReceivedMessage } from "./messages.ts";
import { ServerSocket } from "./server-socket.ts";

const LIMITS = { maxBytes: 1_000_000, isLarge: () => false };

interface Opened {
  readonly socket: ServerSocket;
  readonly messages: ReceivedMessage[];
  /** What each system call has sent. */
  readonly writes: Buffer[];
  /** Whether the kernel delivers bytes. */
  readonly connection: { isPaused: boolean };
  onMessage: () => void;
}

/** A socket whose connection is in the memory of the test. */
function open(): Opened {
  const connection = { isPaused: false };
  const writes: Buffer[] = [];
  const client = {
    remoteAddress: "127.0.0.1",
    write: (bytes: Uint8Array) => writes.push(Buffer.from(bytes)) && bytes.length,
    pause: () => void (connection.isPaused = true),
    resume: () => void (connection.isPaused = false),
    shutdown: () => undefined,
    end: () => undefined,
    terminate: () => undefined,
  };
  const messages: ReceivedMessage[] = [];
  const events = {
    onOpen: () => undefined,
    onClientMessage: (message: ReceivedMessage) => {
      messages.push(message);
      opened.onMessage();
    },
    onClientPing: () => undefined,
    onClientDrained: () => undefined,
    onClientClosed: () => undefined,
    onHandlerError: (error: unknown) => {
      throw error;
    },
  };
  const clock = new ManualClock();
  const budget = new BodyBudget(Infinity, clock);
  const socket = new ServerSocket(events, LIMITS, new CoarseDeadlines(clock), budget);
  const opened: Opened = { socket, messages, writes, connection, onMessage: () => undefined };
  const owner = { endSwitched: () => undefined, terminate: () => undefined };
  socket.onOpen(new SwitchedConnection(owner, client, new SocketSender(client), socket));
  return opened;
}

const received = (opcode: 1 | 2 | 9, payloads: readonly string[]) =>
  Buffer.concat(payloads.map((payload) => encodeFrame(opcode, payload, "client")));

const numbers = (count: number) => Array.from({ length: count }, (_, index) => String(index));

test("a burst of small messages gives up its turn, and the client is not read until all are handled", async () => {
  const { socket, messages, connection } = open();
  const sent = numbers(300_000);
  socket.onData(received(OPCODE.text, sent));
  expect(messages.length).toBeLessThan(sent.length);
  expect(connection.isPaused).toBe(true);
  await waitUntil(() => messages.length === sent.length);
  expect(messages).toEqual(sent);
  await waitUntil(() => !connection.isPaused);
});

test("messages that arrive together with one that pauses the socket wait, in order", () => {
  const opened = open();
  opened.onMessage = () => opened.socket.pause();
  opened.socket.onData(received(OPCODE.text, ["1", "2", "3"]));
  expect(opened.messages).toEqual(["1"]);
  opened.socket.resume();
  expect(opened.messages).toEqual(["1", "2"]);
  expect(opened.connection.isPaused).toBe(true);
  opened.onMessage = () => undefined;
  opened.socket.resume();
  expect(opened.messages).toEqual(["1", "2", "3"]);
  expect(opened.connection.isPaused).toBe(false);
});

test("a small message takes no more memory than its bytes", () => {
  const { socket, messages } = open();
  socket.onData(received(OPCODE.binary, ["a", "b"]));
  expect(messages.map((message) => (message as Uint8Array).buffer.byteLength)).toEqual([1, 1]);
});

test("messages that are sent in one turn take one system call, and keep their order", async () => {
  const { socket, writes } = open();
  const sent = numbers(1000);
  for (const message of sent) socket.send(message);
  const large = "x".repeat(100_000);
  socket.send(large);
  socket.send("last");
  await Promise.resolve();
  const expected = [...sent, large, "last"].map((message) => encodeFrame(OPCODE.text, message, "server"));
  expect(Buffer.concat(writes).equals(Buffer.concat(expected))).toBe(true);
  expect(writes.length).toBeLessThanOrEqual(3);
});

test("of pings that arrive together, the last one is replied to, before the close frame", async () => {
  const { socket, writes } = open();
  socket.onData(received(OPCODE.ping, numbers(10)));
  await Promise.resolve();
  expect(writes).toEqual([Buffer.from(encodeFrame(OPCODE.pong, "9", "server"))]);
  socket.onData(received(OPCODE.ping, ["a", "b"]));
  socket.close(1000, "");
  const close = Buffer.from([0x88, 0x02, 0x03, 0xe8]);
  const [, ...closing] = writes;
  expect(Buffer.concat(closing)).toEqual(Buffer.concat([encodeFrame(OPCODE.pong, "b", "server"), close]));
});
