// Events of a provider's socket have the order in which they happened, although received bytes wait.
import { expect, test } from "bun:test";
import { eventLoopTurns } from "../../test/support/waiting.ts";
import { PLAIN_HANDLERS, type SocketEvents } from "./socket-handlers.ts";

type HandledSocket = Parameters<NonNullable<(typeof PLAIN_HANDLERS)["drain"]>>[0];

function setUp(awaitsResponse: boolean) {
  const events: string[] = [];
  const connection: SocketEvents = {
    queued: null,
    awaitsResponse,
    onData: (bytes) => void events.push(`data ${bytes.toString()}`),
    onDataError: () => undefined,
    onOpen: () => undefined,
    onEstablished: () => undefined,
    onDrain: () => undefined,
    onPeerEnd: () => void events.push("end"),
    onClose: (cause) => void events.push(`closed ${cause?.message ?? ""}`.trim()),
    onConnectError: () => undefined,
    close: () => void events.push("close"),
  };
  return { events, socket: { data: connection } as HandledSocket };
}

test("bytes without a request close the connection before another request can be sent on it", async () => {
  const { events, socket } = setUp(false);
  void PLAIN_HANDLERS.data?.(socket, Buffer.from("x"));
  expect(events).toEqual(["close"]);
  await eventLoopTurns();
  expect(events).toEqual(["close"]);
});

test.each([
  ["end", (socket: HandledSocket) => PLAIN_HANDLERS.end?.(socket), "end"],
  ["close", (socket: HandledSocket) => PLAIN_HANDLERS.close?.(socket), "closed"],
  ["error", (socket: HandledSocket) => PLAIN_HANDLERS.error?.(socket, new Error("reset")), "closed reset"],
])("what was received before the event %s is read before it", async (_, happen, expected) => {
  const { events, socket } = setUp(true);
  void PLAIN_HANDLERS.data?.(socket, Buffer.from("x"));
  expect(events).toEqual([]);
  await happen(socket);
  expect(events).toEqual(["data x", expected]);
});
