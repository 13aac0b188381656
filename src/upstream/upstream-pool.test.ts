// Connections of a pool over real sockets: kept for the next request, and closed with the pool or on eviction.
import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { systemClock } from "../base/clock.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { startFakeProvider } from "../fake-provider/server.ts";
import { CoarseDeadlines } from "../http/coarse-deadlines.ts";
import type { OutgoingRequest } from "./outgoing-request.ts";
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

function send(basePath = "", fields: Partial<OutgoingRequest> = {}, now = performance.now()) {
  const headers = { "content-type": "application/json" };
  const body = Buffer.from('{"model":"m","messages":[{"role":"user","content":"hi"}]}');
  const request = {
    baseUrl: provider.url + basePath,
    poolKey: provider.url + basePath,
    usesClientCredential: false,
    credential: null,
    path: "/v1/chat/completions",
    method: "POST",
    headers,
    body,
    ...fields,
  };
  return pool.send(request, TIMEOUTS, now);
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

test.each([false, true])(
  "the least recently used origins are closed when there are too many (client credentials: %p)",
  async (usesClientCredential) => {
    for (let origin = 0; origin < 3; origin++) await statusOf(send(`/${origin}`, { usesClientCredential }));
    expect(provider.openConnections()).toBe(3);
    const unreachable = { baseUrl: "http://127.0.0.1:1", path: "/", method: "GET", headers: {}, body: null };
    const many = usesClientCredential ? 1000 : 8000;
    for (let key = 0; key < many; key++) {
      const request = { ...unreachable, poolKey: String(key), usesClientCredential, credential: null };
      pool.send(request, TIMEOUTS, performance.now()).cancel();
    }
    await provider.until(() => provider.openConnections() === 0);
    expect(pool.size).toBeLessThanOrEqual(many);
  },
);

test("credentials that clients invent do not close the connections of targets", async () => {
  expect(await statusOf(send())).toBe(200);
  for (let key = 0; key < 2000; key++)
    send("", { usesClientCredential: true, poolKey: `${key}`, baseUrl: "http://127.0.0.1:1" }).cancel();
  expect(await statusOf(send())).toBe(200);
  expect(provider.connectionsOpened).toBe(1);
});

test("an origin is forgotten when it has not been used for a minute", async () => {
  const clock = new ManualClock();
  pool = new UpstreamPool(new CoarseDeadlines(clock));
  for (const poolKey of ["a", "b"]) expect(await statusOf(send("", { poolKey }, clock.now()))).toBe(200);
  expect(await statusOf(send("", { poolKey: "c", usesClientCredential: true }, clock.now()))).toBe(200);
  expect(pool.size).toBe(3);
  clock.advance(40_000);
  expect(await statusOf(send("", { poolKey: "a" }, clock.now()))).toBe(200);
  clock.advance(40_000);
  expect(pool.size).toBe(1);
  clock.advance(40_000);
  expect(pool.size).toBe(0);
  await provider.until(() => provider.openConnections() === 0);
});
