// Reads what an MCP server sends: however small its events are, no turn of the event loop takes all of them.
import { expect, test } from "bun:test";
import { countTurns } from "../../test/support/counted-turns.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { BodyBudget } from "../http/body-budget.ts";
import { CoarseDeadlines } from "../http/coarse-deadlines.ts";
import { HeaderFields } from "../http/header-fields.ts";
import { UpstreamResponse } from "../upstream/upstream-response.ts";
import { callServer, type ServerCallParts } from "./server-call.ts";
import type { McpServerTarget } from "./server-target.ts";

const clock = new ManualClock();
const STREAM = HeaderFields.from({ "content-type": "text/event-stream" });
const server = { headers: {}, timeouts: { connect: 1000 }, credential: null } as unknown as McpServerTarget;
const NOTIFICATION = 'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}\n\n';
const REQUEST = 'data: {"jsonrpc":"2.0","id":1,"method":"ping"}\n\n';

/** Calls a server whose response has arrived completely. */
function received(body: string) {
  const response = new UpstreamResponse(new CoarseDeadlines(clock), clock.now(), 1000, 1000);
  response.onHeaders({ status: 200, headers: STREAM, framing: 1 } as Parameters<
    UpstreamResponse["onHeaders"]
  >[0]);
  response.onBody(Buffer.from(body));
  response.onEnd();
  const bodyBudget = new BodyBudget(Infinity, clock);
  const parts = { upstream: { send: () => response }, clock, bodyBudget } as unknown as ServerCallParts;
  const request = {
    method: "POST",
    headers: {},
    body: "{}",
    credential: null,
    timeoutMs: 1000,
    signal: null,
  };
  return callServer(server, { ...request, method: "POST" }, parts);
}

test.each([
  ["notifications", NOTIFICATION, 10_000],
  ["requests", REQUEST, 10_000],
  ["comments", ":\n\n", 250_000],
  ["events without a message", "id: 1\n\n", 100_000],
])("%s that have arrived at once are read over several turns", async (_, event, count) => {
  const reply = await received(event.repeat(count) + NOTIFICATION);
  const counted = countTurns();
  let messages = 0;
  for await (const { message } of reply.events()) if (message !== null) messages++;
  counted.stop();
  expect(messages).toBe(event.startsWith("data") ? count + 1 : 1);
  expect(counted.count).toBeGreaterThan(0);
});
