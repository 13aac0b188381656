// Errors in the handlers of WebSockets.
import { afterAll, expect, test } from "bun:test";
import { waitUntil } from "../../../test/support/waiting.ts";
import { systemClock } from "../../base/clock.ts";
import { BodyBudget } from "../body-budget.ts";
import { CoarseDeadlines } from "../coarse-deadlines.ts";
import { HttpServer } from "../server/http-server.ts";
import { OutgoingResponse } from "../server/outgoing-response.ts";
import { acceptKeyFor } from "./accept-key.ts";
import { ServerSocket, type ServerSocketEvents } from "./server-socket.ts";

const errors: string[] = [];
const fail = (name: string) => () => {
  throw new Error(name);
};
const events: ServerSocketEvents = {
  onOpen: () => undefined,
  onClientMessage: fail("message"),
  onClientPing: fail("ping"),
  onClientDrained: () => undefined,
  onClientClosed: fail("closed"),
  onHandlerError: (error) => void errors.push(String(error)),
};
const deadlines = new CoarseDeadlines(systemClock);
const budget = new BodyBudget(Infinity, systemClock);
const server = new HttpServer({
  hostname: "127.0.0.1",
  port: 0,
  reusePort: false,
  deadlines,
  handle: (request) => {
    const accept = acceptKeyFor(request.headers.get("sec-websocket-key") ?? "");
    const head = `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`;
    request.switchTo?.(
      new ServerSocket(events, { maxBytes: 1000, isLarge: () => false }, deadlines, budget),
      head,
    );
    return Promise.resolve(new OutgoingResponse(null, { status: 101 }));
  },
});
afterAll(() => server.stop(true));

test("an error in a handler is reported and closes the socket, not the process", async () => {
  const closed = Promise.withResolvers<number>();
  const socket = new WebSocket(server.url.href.replace("http", "ws"));
  socket.onclose = ({ code }) => closed.resolve(code);
  socket.onopen = () => socket.send("x");
  expect(await closed.promise).toBe(1006);
  await waitUntil(() => errors.length === 2);
  expect(errors.toSorted()).toEqual(["Error: closed", "Error: message"]);
});
