// Clients that send a body too slowly or stop reading: after the timeouts of the gateway, their connections are closed and
// what they use is released.
import { afterAll, describe, expect, test } from "bun:test";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import { bufferedBodyBytes, inFlightCount } from "../support/balancing-fixtures.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { connectRaw } from "../support/raw-client.ts";
import { eventLoopTurns, untilStable, waitUntil } from "../support/waiting.ts";

const BODY_TIMEOUT_MS = 60_000;
const STALL_TIMEOUT_MS = 300_000;
/** Deadlines are checked every 50 ms. */
const TICK_MS = 50;

const gatehouse = await startGatehouseInProcess();
const { clock } = gatehouse;
const provider = await startFakeProvider();
afterAll(async () => {
  await gatehouse.stop();
  await provider.stop();
});
await seedRoute(gatehouse, {
  upstream: { targets: [targetAt(provider, { path: "/echo" })] },
  rule: { path: "/r", methods: ["GET", "POST"] },
});
const proxyPort = Number(new URL(gatehouse.proxyUrl).port);
const adminPort = Number(new URL(gatehouse.adminUrl).port);

const START = "POST /r HTTP/1.1\r\nHost: x\r\n";
const ADMIN_START =
  `POST /api/v1/gateways HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${gatehouse.token}\r\n` +
  "Content-Type: application/json\r\n";

describe("a body is given 60 seconds", () => {
  const STALLED: [name: string, port: number, bytes: string][] = [
    ["with a length", proxyPort, `${START}Content-Length: 100\r\n\r\nabc`],
    ["in chunks", proxyPort, `${START}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`],
    ["to the Admin API", adminPort, `${ADMIN_START}Content-Length: 100000\r\n\r\n{`],
  ];
  test.each(STALLED)("%s", async (_, port, bytes) => {
    const client = await connectRaw(port);
    client.send(bytes);
    await waitUntil(async () => (await bufferedBodyBytes(gatehouse)) > 0);
    clock.advance(BODY_TIMEOUT_MS - TICK_MS);
    await eventLoopTurns();
    expect(client.received()).toBe("");
    clock.advance(2 * TICK_MS);
    expect((await client.ended).received).toMatch(/^HTTP\/1\.1 408 [^]*request_timeout/);
  });

  test("bytes that trickle in do not extend it", async () => {
    const client = await connectRaw(proxyPort);
    client.send(`${START}Content-Length: 9000\r\n\r\nabc`);
    await waitUntil(async () => (await inFlightCount(gatehouse)) === 1);
    for (let passedMs = 0; passedMs <= BODY_TIMEOUT_MS; passedMs += 1000) {
      client.send("a");
      await eventLoopTurns();
      clock.advance(1000);
    }
    expect((await client.ended).received).toMatch(/^HTTP\/1\.1 408 [^]*request_timeout/);
  });
});

test("a client that reads nothing for five minutes is disconnected, and the request to the provider is canceled", async () => {
  provider.reset();
  const reader = await connectRaw(proxyPort);
  const big = JSON.stringify({ bigStream: { bytes: 1 << 30, chunkBytes: 1 << 16 } });
  reader.send(`GET /r HTTP/1.1\r\nHost: x\r\nx-fake: ${big}\r\n\r\n`);
  await reader.until((received) => received.length > 1000);
  reader.pause();
  const request = provider.requests[0]!;
  await untilStable(() => request.bytesSent);
  clock.advance(STALL_TIMEOUT_MS - 1000);
  await eventLoopTurns();
  expect(request.aborted).toBe(false);
  clock.advance(2000);
  await provider.until(() => request.aborted);
  reader.disconnect(true);
});
