// WebSockets of clients over real sockets: frames in the segment of the handshake, invalid frames, clients that do not read, do not
// respond, or are not read.
import { afterEach, describe, expect, test } from "bun:test";
import { startTestServer, type TestServer } from "../../../test/support/http-server.ts";
import type { RawClient } from "../../../test/support/raw-client.ts";
import { eventLoopTurns, waitUntil } from "../../../test/support/waiting.ts";
import { OutgoingResponse } from "../server/outgoing-response.ts";
import { CLOSE } from "./close-codes.ts";
import { encodeClose, encodeFrame, OPCODE } from "./frames.ts";
import { ServerSocket, type ServerSocketEvents } from "./server-socket.ts";

const PING_MS = 60_000;
const CLOSE_MS = 5000;
const LINGER_MS = 2000;
const LIMITS = { maxBytes: 100_000, isLarge: () => false };

class Events implements ServerSocketEvents {
  readonly messages: (string | number)[] = [];
  readonly closed: number[] = [];
  socket: ServerSocket | null = null;
  onOpen(socket: ServerSocket): void {
    this.socket = socket;
  }
  onClientMessage(message: string | Uint8Array): void {
    this.messages.push(typeof message === "string" ? message : message.byteLength);
  }
  onClientPing(): void {
    this.messages.push("ping");
  }
  onClientDrained(): void {
    this.messages.push("drained");
  }
  onClientClosed(code: number): void {
    this.closed.push(code);
  }
  onHandlerError(error: unknown): void {
    throw error;
  }
}

interface OpenedSocket extends TestServer {
  readonly events: Events;
  readonly client: RawClient;
}

const started: TestServer[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map(({ server }) => server.stop(true)));
});

const HANDSHAKE = "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
const HEAD = "HTTP/1.1 101 Switching Protocols\r\n\r\n";

/** `early` is sent in the segment of the handshake. */
async function open(early: Uint8Array = new Uint8Array(0)): Promise<OpenedSocket> {
  const events = new Events();
  const server = startTestServer(async (request, { deadlines, bodyBudget }) => {
    await eventLoopTurns(1);
    request.switchTo?.(new ServerSocket(events, LIMITS, deadlines, bodyBudget), HEAD);
    return new OutgoingResponse(null, { status: 101 });
  });
  started.push(server);
  const client = await server.connect();
  client.send(Buffer.concat([Buffer.from(HANDSHAKE), early]));
  await client.until((received) => received.startsWith(HEAD));
  return { ...server, events, client };
}

const text = (message: string) => Buffer.from(encodeFrame(OPCODE.text, message, "client"));
const ping = Buffer.from(encodeFrame(OPCODE.ping, "p", "client"));
const close = (code: number) => Buffer.from(encodeClose(code, "", "client"));
const allClosed = ({ server }: TestServer) => waitUntil(() => server.connectionCount === 0);
/** What the client received after the handshake. */
const framesOf = (received: string) => Buffer.from(received.slice(HEAD.length), "latin1").toString("hex");

test("frames in the segment of the handshake are read, and the closing handshake ends the connection", async () => {
  const socket = await open(Buffer.concat([text("early"), ping, close(4000)]));
  const { received, reset } = await socket.client.ended;
  expect(socket.events.messages.slice(0, 2)).toEqual(["early", "ping"]);
  expect(socket.events.closed).toEqual([4000]);
  // A pong, and a close frame with the same code.
  expect({ frames: framesOf(received), reset }).toEqual({ frames: "8a017088020fa0", reset: false });
  await allClosed(socket);
});

test("frames that arrive byte by byte are read", async () => {
  const socket = await open();
  for (const byte of Buffer.concat([text("hello"), text("x".repeat(300)), close(1000)])) {
    socket.client.send(Buffer.from([byte]));
    await eventLoopTurns(1);
  }
  await socket.client.ended;
  expect(socket.events.messages).toEqual(["hello", "x".repeat(300)]);
});

describe("an invalid frame closes the socket, and the client gets the close code although it is still sending", () => {
  test.each([
    ["without a mask", Buffer.from([0x81, 0x05, 0x68, 0x65, 0x6c, 0x6c, 0x6f]), CLOSE.protocolError],
    ["with reserved bits", Buffer.from([0xf1, 0x80, 0, 0, 0, 0]), CLOSE.protocolError],
    ["with an unknown opcode", Buffer.from([0x83, 0x80, 0, 0, 0, 0]), CLOSE.protocolError],
    ["that is a fragmented ping", Buffer.from([0x09, 0x80, 0, 0, 0, 0]), CLOSE.protocolError],
    ["that continues nothing", Buffer.from([0x80, 0x80, 0, 0, 0, 0]), CLOSE.protocolError],
    [
      "that is too large",
      Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]),
      CLOSE.messageTooBig,
    ],
    [
      "that is larger than any memory",
      Buffer.from([0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]),
      CLOSE.messageTooBig,
    ],
    ["that is not UTF-8", Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0xff]), CLOSE.invalidText],
  ])("%s", async (_, frame, code) => {
    const socket = await open();
    socket.client.send(Buffer.concat([frame, Buffer.alloc(4 << 20, 0x78)]));
    const { received, reset } = await socket.client.ended;
    expect({ frames: framesOf(received), reset }).toEqual({
      frames: `8802${code.toString(16).padStart(4, "0")}`,
      reset: false,
    });
    expect(socket.events).toMatchObject({ messages: [], closed: [CLOSE.abnormal] });
    await allClosed(socket);
  });
});

describe("a client", () => {
  test("that is silent is pinged after a minute, and disconnected after another", async () => {
    const socket = await open();
    socket.clock.advance(PING_MS);
    await socket.client.until((received) => framesOf(received) === "8900");
    socket.client.send(Buffer.from(encodeFrame(OPCODE.pong, "", "client")));
    await eventLoopTurns();
    socket.clock.advance(PING_MS);
    await socket.client.until((received) => framesOf(received) === "89008900");
    socket.clock.advance(PING_MS);
    await allClosed(socket);
    expect(socket.events.closed).toEqual([CLOSE.abnormal]);
  });

  test("that is not read, because the provider is slow, is not taken for silent", async () => {
    const socket = await open();
    socket.events.socket?.pause();
    socket.client.send(text("waits"));
    socket.clock.advance(10 * PING_MS);
    await eventLoopTurns();
    expect(socket.events.closed).toEqual([]);
    socket.events.socket?.resume();
    await waitUntil(() => socket.events.messages.includes("waits"));
  });

  test("that disconnects inside of a message, or closes the socket, returns the memory of the message", async () => {
    for (const end of [Buffer.alloc(0), close(1000)]) {
      const socket = await open();
      const { bodyBudget } = socket.limits;
      // A fragment, whose message is not continued.
      const fragment = text("x".repeat(100));
      fragment[0] = OPCODE.text;
      socket.client.send(fragment);
      await waitUntil(() => bodyBudget.used === 100);
      socket.client.send(end);
      socket.client.disconnect();
      await allClosed(socket);
      expect(bodyBudget.used).toBe(0);
    }
  });

  test("that pings inside of a message that it does not finish seems silent to the relay", async () => {
    const socket = await open();
    const fragment = text("x");
    fragment[0] = OPCODE.text;
    const rest = text("y");
    rest[0] = 0x80;
    socket.client.send(Buffer.concat([fragment, ping, rest, ping]));
    await waitUntil(() => socket.events.messages.includes("ping"));
    expect(socket.events.messages).toEqual(["xy", "ping"]);
  });

  test("that is not read and disconnects is noticed", async () => {
    const socket = await open();
    socket.events.socket?.pause();
    socket.client.disconnect(true);
    await eventLoopTurns();
    socket.events.socket?.resume();
    await allClosed(socket);
    expect(socket.events.closed).toEqual([CLOSE.abnormal]);
  });

  test("that does not read is disconnected five seconds after the socket was closed", async () => {
    const socket = await open();
    socket.client.pause();
    for (let sent = 0; sent < 32; sent++) socket.events.socket?.send(new Uint8Array(1 << 20));
    expect(socket.events.socket?.bufferedBytes).toBeGreaterThan(1 << 20);
    socket.client.send(close(1000));
    await waitUntil(() => socket.events.closed.length === 1);
    socket.client.send(ping);
    await eventLoopTurns();
    expect(socket.server.connectionCount).toBe(1);
    socket.clock.advance(CLOSE_MS + 100);
    await allClosed(socket);
    expect(socket.events.closed).toEqual([1000]);
  });

  test("that pings but does not read gets a bounded number of pongs", async () => {
    const socket = await open();
    socket.client.pause();
    for (let sent = 0; sent < 16; sent++) socket.events.socket?.send(new Uint8Array(1 << 20));
    const before = socket.events.socket?.bufferedBytes;
    for (let sent = 0; sent < 1000; sent++) socket.client.send(ping);
    await waitUntil(() => socket.events.messages.filter((message) => message === "ping").length === 1000);
    expect(socket.events.socket?.bufferedBytes).toBe(before);
  });

  test("that keeps its side open after the close frames is disconnected after two seconds", async () => {
    const socket = await open();
    socket.client.pause();
    socket.client.send(close(1000));
    await waitUntil(() => socket.events.closed.length === 1);
    socket.clock.advance(LINGER_MS + 100);
    await allClosed(socket);
  });
});
