// The HTTP server of the proxy port through the gateway, over raw sockets: pipelining, bodies that are rejected while they arrive,
// disconnects, and what operators see of bytes that are no request.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import { inFlightCount, strayOutput } from "../support/balancing-fixtures.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { bodiesIn, responses, statusesIn } from "../support/http-server.ts";
import { seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { readMetrics } from "../support/prometheus-text.ts";
import { connectRaw } from "../support/raw-client.ts";
import { waitUntil } from "../support/waiting.ts";

const MAX_BODY_BYTES = 1 << 20;

const gatehouse = await startGatehouseInProcess({ env: { MAX_BODY_BYTES: String(MAX_BODY_BYTES) } });
const provider = await startFakeProvider();
afterAll(async () => {
  await gatehouse.stop();
  await provider.stop();
});
beforeEach(() => provider.reset());
const route = await seedRoute(gatehouse, {
  upstream: { targets: [targetAt(provider, { path: "/echo" })] },
  rule: { path: "/r", methods: ["GET", "POST"] },
});
await seedRoute(gatehouse, {
  upstream: { targets: [targetAt(provider, { path: "/echo" })] },
  rule: { path: "/private", methods: ["POST"], require_api_key: true },
});
const port = Number(new URL(gatehouse.proxyUrl).port);

const post = (path: string, body: string, ...headers: string[]) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\n${[...headers, `Content-Length: ${body.length}`].join("\r\n")}\r\n\r\n${body}`;

async function rejectedConnections(reason: string): Promise<number> {
  const response = await fetch(`${gatehouse.adminUrl}/metrics`, {
    headers: { Authorization: `Bearer ${gatehouse.token}` },
  });
  return readMetrics(await response.text()).value("gatehouse_rejected_connections_total", { reason }) ?? 0;
}

describe("requests in one segment", () => {
  test("each reach the provider once and in order, split anywhere", async () => {
    const bytes = post("/r", "one") + post("/r", "two", "Expect: 100-continue") + post("/r", "three");
    for (const at of [bytes.length, 10, 60, 100, 150]) {
      provider.reset();
      const client = await connectRaw(port);
      client.send(bytes.slice(0, at));
      client.send(bytes.slice(at));
      const received = await client.until(
        (text) => statusesIn(text).filter((status) => status === 200).length === 3,
      );
      expect(statusesIn(received).filter((status) => status !== 100)).toEqual([200, 200, 200]);
      expect(provider.requests.map(({ body }) => Buffer.from(body).toString())).toEqual([
        "one",
        "two",
        "three",
      ]);
      client.disconnect();
    }
  });

  test("garbage after a request: the request is served, the garbage is 400 and counted, and the connection is closed", async () => {
    const before = await rejectedConnections("bad_request");
    const client = await connectRaw(port);
    client.send(`${post("/r", "one")}BAD BAD\r\n\r\n${post("/r", "two")}`);
    const { received } = await client.ended;
    expect(statusesIn(received)).toEqual([200, 400]);
    expect(provider.requestCount).toBe(1);
    expect(await rejectedConnections("bad_request")).toBe(before + 1);
    expect(strayOutput(gatehouse)).toEqual([]);
  });
});

describe("bytes that are no request get the error format of the gateway and close the connection", () => {
  test.each([
    ["a TLS handshake", "\x16\x03\x01\x02\x00\x01\x00", 400, "bad_request"],
    ["lines that end with LF", "GET /r HTTP/1.1\nHost: x\n\n", 400, "bad_request"],
    [
      "two framings",
      "POST /r HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      400,
      "bad_request",
    ],
    ["headers that never end", `GET /r HTTP/1.1\r\nX: ${"x".repeat(70_000)}`, 431, "headers_too_large"],
  ])("%s", async (_, bytes, status, code) => {
    const before = await rejectedConnections(code);
    const client = await connectRaw(port);
    client.send(bytes);
    const { received, reset } = await client.ended;
    expect({ statuses: statusesIn(received), reset }).toEqual({ statuses: [status], reset: false });
    const body: unknown = JSON.parse(bodiesIn(received)[0] ?? "");
    expect(body).toMatchObject({ code, request_id: expect.any(String) as string });
    expect(await rejectedConnections(code)).toBe(before + 1);
    expect(provider.requestCount).toBe(0);
  });

  test("headers that do not arrive in 10 seconds", async () => {
    const before = await rejectedConnections("request_timeout");
    const client = await connectRaw(port);
    client.send("GET /r HTTP/1.1\r\n");
    const ended = client.ended;
    await waitUntil(() => {
      gatehouse.clock.advance(1000);
      return client.received() !== "";
    });
    expect((await ended).received).toMatch(/^HTTP\/1\.1 408 [^]*"request_timeout"/);
    expect(await rejectedConnections("request_timeout")).toBe(before + 1);
  });
});

describe("a client that sends 10 MB can read why they are rejected", () => {
  const TEN = "x".repeat(10 << 20);

  test.each([
    ["401 without a key", post("/private", TEN), 401],
    ["404 without a rule", post("/nothing", TEN), 404],
    ["413 above MAX_BODY_BYTES", post("/r", TEN), 413],
    [
      "413 in chunks",
      `POST /r HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${"10000\r\n".concat("x".repeat(65_536), "\r\n").repeat(160)}0\r\n\r\n`,
      413,
    ],
  ])("%s", async (_, bytes, status) => {
    const client = await connectRaw(port);
    client.send(bytes);
    const { received, reset } = await client.ended;
    expect({ statuses: statusesIn(received), reset }).toEqual({ statuses: [status], reset: false });
    expect(provider.requestCount).toBe(0);
    expect(await inFlightCount(gatehouse)).toBe(0);
  });

  test("and one that waits for 100 Continue sends nothing", async () => {
    const client = await connectRaw(port);
    client.send("POST /private HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n");
    expect(statusesIn((await client.ended).received)).toEqual([401]);
  });
});

describe("the request to a provider is canceled if the client disconnects", () => {
  const request = `GET /r HTTP/1.1\r\nHost: x\r\nx-fake: ${JSON.stringify({ delayMs: 600_000 })}\r\n\r\n`;

  test.each([
    ["with FIN", "", false],
    ["with a reset", "", true],
    ["with a reset, after more bytes than are read ahead", post("/r", "x".repeat(400_000)), true],
  ])("%s", async (_, following, isReset) => {
    const client = await connectRaw(port);
    client.send(request + following);
    await waitUntil(() => provider.requestCount === 1);
    await waitUntil(() => client.unsentBytes() === 0);
    client.disconnect(isReset);
    await waitUntil(() => provider.requests[0]?.aborted === true);
    await waitUntil(async () => (await inFlightCount(gatehouse)) === 0);
    expect(provider.requestCount).toBe(1);
  });
});

test("a key works on a connection that has served others", async () => {
  const { key } = await seedKey(gatehouse, route.gateway);
  const client = await connectRaw(port);
  client.send(post("/private", "x") + post("/r", "y", `X-GW-API-Key: ${key}`) + post("/private", "z"));
  expect(statusesIn(await responses(client, 1))[0]).toBe(401);
  await client.until((text) => statusesIn(text).length === 3);
  expect(statusesIn(client.received())).toEqual([401, 200, 401]);
});
