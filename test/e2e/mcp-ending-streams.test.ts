// Streams of servers without a request that end, or that servers do not open: how often the gateway opens them again, what it repeats, and in
// which session.
import { afterAll, expect, test } from "bun:test";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { listenMcp, readerOf, seedMcp, SessionClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { eventLoopTurns, passTimeUntil, waitUntil } from "../support/waiting.ts";

const gatehouse = await startGatehouseInProcess();
afterAll(() => gatehouse.stop());
const { clock } = gatehouse;
const servers = useMcpServers({
  one: { generation: "session" },
  two: { generation: "session" },
  shared: { generation: "session" },
  late: { generation: "session" },
  restarted: { generation: "session" },
  without: { generation: "session", tools: { run: {} } },
});

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
  const { signal } = aborted;
  const response = await listenMcp(url, { resourceSubscriptions: uris }, { signal });
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

const CHANGED = "notifications/tools/list_changed";

test("each subscription has a session of its own: a server may allow one stream per session", async () => {
  const { shared } = servers;
  const open = new Set<string>();
  shared.respond = ({ method, headers, signal }) => {
    const session = headers.get("mcp-session-id") ?? "";
    if (method !== "GET") return null;
    if (open.has(session)) return new Response(null, { status: 409 });
    open.add(session);
    signal.addEventListener("abort", () => open.delete(session));
    return null;
  };
  const { url } = await seedMcp(gatehouse, { shared: shared.url });
  const aborted = new AbortController();
  const { signal } = aborted;
  const listen = async () => readerOf(await listenMcp(url, { toolsListChanged: true }, { signal }));
  const listeners = [await listen(), await listen()];
  await waitUntil(() => shared.openStreams === 2);
  shared.broadcast({ method: CHANGED });
  for (const read of listeners) await read((received) => received.includes(CHANGED));
  aborted.abort();
  await waitUntil(() => shared.sessions.size === 0);
});

test("a stream is opened when the server has noticed that the one before it has ended", async () => {
  const { late } = servers;
  let refused = 0;
  late.respond = ({ method }) =>
    method === "GET" && ++refused <= 2 ? new Response(null, { status: 409 }) : null;
  const { url } = await seedMcp(gatehouse, { late: late.url });
  const client = await SessionClient.start(url);
  const aborted = new AbortController();
  const read = readerOf(await client.stream(aborted.signal));
  await passTimeUntil(
    clock,
    waitUntil(() => late.openStreams === 1),
  );
  late.broadcast({ method: CHANGED });
  await read((received) => received.includes(CHANGED));
  aborted.abort();
});

test("the stream continues in the session that replaces one that the server has lost", async () => {
  const { restarted } = servers;
  let [isDown, refused] = [false, 0];
  restarted.respond = ({ method }) => {
    if (isDown) return new Response(`${++refused}`, { status: 404 });
    if (method !== "GET" || refused > 0) return null;
    restarted.sessions.clear();
    isDown = true;
    return ending();
  };
  const { url } = await seedMcp(gatehouse, { restarted: restarted.url });
  const client = await SessionClient.start(url);
  const aborted = new AbortController();
  const read = readerOf(await client.stream(aborted.signal));
  // A proxy without the server knows none of its paths.
  await passTimeUntil(
    clock,
    waitUntil(() => refused >= 4),
  );
  isDown = false;
  await passTimeUntil(
    clock,
    waitUntil(() => restarted.openStreams === 1),
  );
  restarted.broadcast({ method: CHANGED });
  await read((received) => received.includes(CHANGED));
  expect((await client.request("prompts/list")).status).toBe(200);
  expect(restarted.sessions.size).toBe(1);
  aborted.abort();
});

test.each([404, 405])(
  "a server that has no stream (%i) keeps its session, and is not asked again",
  async (status) => {
    const { without } = servers;
    without.received.length = 0;
    without.sessions.clear();
    without.respond = ({ method }) => (method === "GET" ? new Response(null, { status }) : null);
    const opened = () => without.received.filter(({ method }) => method === "GET").length;
    const { url } = await seedMcp(gatehouse, { without: without.url });
    const client = await SessionClient.start(url);
    const aborted = new AbortController();
    await client.stream(aborted.signal);
    await waitUntil(() => opened() === 1);
    if (status === 404) await waitUntil(() => without.methods.includes("ping"));
    await pass(2000);
    expect((await client.request("tools/call", { name: "run" })).result).toMatchObject({ content: [{}] });
    expect([opened(), without.sessions.size]).toEqual([1, 1]);
    aborted.abort();
  },
);
