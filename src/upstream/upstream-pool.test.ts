// Connections of a pool over real sockets: kept for the next request, and closed with the pool or on eviction.
import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { systemClock } from "../base/clock.ts";
import { startFakeProvider } from "../fake-provider/server.ts";
import { CoarseDeadlines } from "../http/coarse-deadlines.ts";
import { readWholeBody } from "./read-whole-body.ts";
import { UpstreamPool } from "./upstream-pool.ts";

const TIMEOUTS = { connect: 5000, first_byte: 5000 };

const provider = await startFakeProvider();
afterAll(() => provider.stop());
let pool: UpstreamPool;
beforeEach(() => {
  provider.reset();
  pool = new UpstreamPool(new CoarseDeadlines(systemClock));
});
afterEach(async () => {
  pool.close();
  await provider.until(() => provider.openConnections() === 0);
});

function send(basePath = "") {
  const headers = { "content-type": "application/json" };
  const body = Buffer.from('{"model":"m","messages":[{"role":"user","content":"hi"}]}');
  const request = {
    baseUrl: provider.url + basePath,
    path: "/v1/chat/completions",
    method: "POST",
    headers,
    body,
  };
  return pool.send(request, TIMEOUTS, performance.now());
}

async function statusOf(response: ReturnType<typeof send>): Promise<number> {
  await response.headersReceived;
  await readWholeBody(response, 1 << 20);
  return response.status;
}

test("an idle connection is reused", async () => {
  for (let times = 0; times < 3; times++) expect(await statusOf(send())).toBe(200);
  expect(provider.connectionsOpened).toBe(1);
});

test("close closes idle connections now, and those in use when their response is complete", async () => {
  expect(await statusOf(send())).toBe(200);
  provider.behave({ delayMs: 100 });
  const [inFlight, connecting] = [send(), send()];
  await provider.until(() => provider.requestCount === 3);
  provider.behave({});
  pool.close();
  expect(await statusOf(inFlight)).toBe(200);
  expect(await statusOf(connecting)).toBe(200);
  await provider.until(() => provider.openConnections() === 0);
});

test("a request sent after close is served, and its connection closed", async () => {
  pool.close();
  expect(await statusOf(send())).toBe(200);
  await provider.until(() => provider.openConnections() === 0);
});

test("a canceled request gives up its connection", async () => {
  provider.behave({ delayMs: 60_000 });
  const response = send();
  await provider.until(() => provider.requestCount === 1);
  response.cancel();
  expect(await response.headersReceived.catch((error: unknown) => error)).toMatchObject({
    kind: "client_left",
  });
  await provider.until(() => provider.openConnections() === 0);
});

test("the least recently used origins are closed when there are too many", async () => {
  for (let origin = 0; origin < 3; origin++) await statusOf(send(`/${origin}`));
  expect(provider.openConnections()).toBe(3);
  const unreachable = { path: "/", method: "GET", headers: {}, body: null };
  for (let port = 1; port <= 2000; port++) {
    const response = pool.send(
      { ...unreachable, baseUrl: `http://127.0.0.1:1/${port}` },
      TIMEOUTS,
      performance.now(),
    );
    response.cancel();
  }
  await provider.until(() => provider.openConnections() === 0);
});
