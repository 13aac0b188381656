// Errors in the handlers of WebSockets.
import { afterAll, expect, test } from "bun:test";
import { waitUntil } from "../../../test/support/waiting.ts";
import type { ClientSocketEvents } from "./client-socket.ts";
import { socketHandlers } from "./socket-handlers.ts";

const errors: string[] = [];
const fail = (name: string) => () => {
  throw new Error(name);
};
const events: ClientSocketEvents = {
  onOpen: () => undefined,
  onClientMessage: fail("message"),
  onClientPing: fail("ping"),
  onClientDrained: fail("drained"),
  onClientClosed: fail("closed"),
  onHandlerError: (error) => void errors.push(String(error)),
};
const server = Bun.serve<ClientSocketEvents>({
  port: 0,
  fetch: (request, listener) => (listener.upgrade(request, { data: events }) ? undefined : new Response()),
  websocket: socketHandlers(1000),
});
afterAll(() => server.stop(true));

test("an error in a handler is reported and closes the socket, not the process", async () => {
  const closed = Promise.withResolvers<number>();
  const socket = new WebSocket(server.url.href.replace("http", "ws"));
  socket.onclose = ({ code }) => closed.resolve(code);
  socket.onopen = () => socket.send("x");
  expect(await closed.promise).toBe(1006);
  await waitUntil(() => errors.length === 2);
  expect(errors).toEqual(["Error: message", "Error: closed"]);
});
