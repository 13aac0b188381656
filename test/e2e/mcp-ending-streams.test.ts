// Servers that end their streams without a request at once: how often the gateway opens them again, and what it repeats.
import { afterAll, expect, test } from "bun:test";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { seedMcp, SessionClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { eventLoopTurns, waitUntil } from "../support/waiting.ts";

const gatehouse = await startGatehouseInProcess();
afterAll(() => gatehouse.stop());
const { clock } = gatehouse;
const servers = useMcpServers({ one: { generation: "session" }, two: { generation: "session" } });

const ending = () =>
  new Response("retry: 0\ndata: \n\n", { headers: { "Content-Type": "text/event-stream" } });

async function pass(milliseconds: number): Promise<void> {
  for (const end = clock.now() + milliseconds; clock.now() < end;) {
    clock.advance(10);
    await eventLoopTurns();
  }
}

test("a stream that ends at once is opened again after pauses that grow", async () => {
  servers.one.respond = ({ method }) => (method === "GET" ? ending() : null);
  const opened = () => servers.one.received.filter(({ method }) => method === "GET").length;
  const { url } = await seedMcp(gatehouse, { one: servers.one.url });
  const client = await SessionClient.start(url);
  const aborted = new AbortController();
  await client.stream(aborted.signal);
  await waitUntil(() => opened() === 1);
  await pass(950);
  expect(opened()).toBe(1);
  await pass(5000);
  expect(opened()).toBeGreaterThanOrEqual(2);
  expect(opened()).toBeLessThanOrEqual(3);
  aborted.abort();
});

test("subscriptions are sent at a bounded rate, and once for each session", async () => {
  servers.two.respond = ({ method }) => (method === "GET" ? ending() : null);
  const count = (each: string) => servers.two.received.filter(({ rpcMethod }) => rpcMethod === each).length;
  const opened = () => servers.two.received.filter(({ method }) => method === "GET").length;
  const { url } = await seedMcp(gatehouse, { two: servers.two.url });
  const uris = Array.from({ length: 60 }, (_, at) => `memo://${at}`);
  const aborted = new AbortController();
  const params = {
    notifications: { resourceSubscriptions: uris },
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": "subscriptions/listen",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: "sub", method: "subscriptions/listen", params }),
    signal: aborted.signal,
  });
  expect(response.status).toBe(200);
  await waitUntil(() => count("resources/subscribe") >= 50);
  await eventLoopTurns(50);
  expect(count("resources/subscribe")).toBe(50);
  clock.advance(500);
  await waitUntil(() => opened() === 1);
  expect(count("resources/subscribe")).toBe(60);
  await pass(1500);
  await waitUntil(() => opened() === 2);
  await pass(3000);
  await waitUntil(() => opened() === 3);
  expect(count("resources/subscribe")).toBe(60);
  aborted.abort();
});
