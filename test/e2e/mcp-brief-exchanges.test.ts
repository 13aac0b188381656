// Servers that never end their responses to messages without a result, and never accept them: connections are closed after a bounded time,
// and there is a bounded number of them.
import { afterAll, expect, test } from "bun:test";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { seedMcp, SessionClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { eventLoopTurns, waitUntil } from "../support/waiting.ts";

const PER_SESSION = 64;
const WAITING = 4 * PER_SESSION;
const PER_SERVER = 256;
const WAITING_AT_SERVER = 4 * PER_SERVER;
const STEP_MS = 500;

const gatehouse = await startGatehouseInProcess();
afterAll(() => gatehouse.stop());
const { clock } = gatehouse;
const servers = useMcpServers({
  dripping: { generation: "session" },
  level: { generation: "session" },
  end: { generation: "session" },
  busy: { generation: "session" },
  crowded: { generation: "session" },
});

/** Responses that go on until the gateway closes their connections. */
const open = new Set<ReadableStreamDefaultController<Uint8Array>>();
const SPACE = new TextEncoder().encode(" ");

function endless(status = 200): Response {
  let controller: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({
    start: (started) => {
      open.add((controller = started));
      started.enqueue(SPACE);
    },
    cancel: () => void open.delete(controller),
  });
  return new Response(body, { status, headers: { "Content-Type": "application/json" } });
}

/** Each step is shorter than any timeout, and each response gets a byte in it: no server is ever silent. */
async function drip(milliseconds: number): Promise<void> {
  for (const end = clock.now() + milliseconds; clock.now() < end;) {
    for (const each of open) each.enqueue(SPACE);
    await eventLoopTurns(5);
    clock.advance(STEP_MS);
    await eventLoopTurns(5);
  }
}

const progress = {
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken: 1, progress: 1 },
};

test.each([200, 202, 500])(
  "a response to a notification with status %i is not read for long",
  async (status) => {
    const server = servers.dripping;
    server.respond = ({ rpcMethod }) => (rpcMethod === "notifications/progress" ? endless(status) : null);
    const { url } = await seedMcp(gatehouse, { dripping: server.url });
    const client = await SessionClient.start(url);
    for (let sent = 0; sent < 8; sent++) expect((await client.post(progress)).status).toBe(202);
    await waitUntil(() => open.size === 8);
    await drip(status === 500 ? 11_000 : 2000);
    await waitUntil(() => open.size === 0);
  },
);

test("a server that does not end its response to logging/setLevel is not waited for", async () => {
  const server = servers.level;
  server.respond = ({ rpcMethod }) => (rpcMethod === "logging/setLevel" ? endless() : null);
  const { url } = await seedMcp(gatehouse, { level: { url: server.url, timeouts: { list: 1000 } } });
  const client = await SessionClient.start(url);
  const response = client.request("logging/setLevel", { level: "info" });
  await waitUntil(() => open.size === 1);
  await drip(2000);
  expect((await response).result).toEqual({});
  await waitUntil(() => open.size === 0);
});

test("the end of a session does not wait for a response that goes on", async () => {
  const server = servers.end;
  server.respond = ({ method }) => (method === "DELETE" ? endless() : null);
  const { url } = await seedMcp(gatehouse, { end: server.url });
  const client = await SessionClient.start(url);
  const ended = fetch(url, { method: "DELETE", headers: client.allHeaders });
  await waitUntil(() => open.size === 1);
  await drip(2000);
  expect((await ended).ok).toBe(true);
  await waitUntil(() => open.size === 0);
});

test("messages that a server does not accept take a bounded number of connections, and are refused beyond", async () => {
  const server = servers.busy;
  const accepted = () => server.received.filter(({ rpcMethod }) => rpcMethod === "notifications/progress");
  server.isSilentTo = ({ rpcMethod }) => rpcMethod === "notifications/progress";
  const { url } = await seedMcp(gatehouse, { busy: server.url });
  const client = await SessionClient.start(url);
  for (let sent = 0; sent < PER_SESSION + WAITING; sent++)
    expect((await client.post(progress)).status).toBe(202);
  await waitUntil(() => accepted().length === PER_SESSION);
  const refused = await client.post(progress);
  expect([refused.status, refused.error?.["message"]]).toEqual([503, expect.stringContaining('"busy"')]);
  expect(accepted()).toHaveLength(PER_SESSION);
  // Another session has places of its own.
  const other = await SessionClient.start(url);
  expect((await other.post(progress)).status).toBe(202);
  await waitUntil(() => accepted().length === PER_SESSION + 1);
  // All of them, those that waited included, have ended.
  clock.advance(10_050);
  await waitUntil(() => accepted().every(({ signal }) => signal.aborted));
  server.isSilentTo = null;
  expect((await client.post(progress)).status).toBe(202);
  await waitUntil(() => accepted().length === PER_SESSION + 2);
});

test("sessions begin at a server that does not accept the messages of others", async () => {
  const server = servers.crowded;
  server.isSilentTo = ({ rpcMethod }) => rpcMethod === "notifications/progress";
  const { url } = await seedMcp(gatehouse, { crowded: server.url });
  const version = "2025-03-26";
  const half = Array.from({ length: PER_SESSION / 2 }, () => progress);
  for (let sessions = 0; sessions < PER_SERVER / PER_SESSION + WAITING_AT_SERVER / PER_SESSION; sessions++) {
    const client = await SessionClient.start(url, { version });
    for (let sent = 0; sent < 2; sent++) expect((await client.post(half)).status).toBe(202);
  }
  const other = await SessionClient.start(url);
  expect(other.initialized?.result).toMatchObject({ serverInfo: {} });
  expect((await other.request("ping")).result).toEqual({});
  expect((await other.post(progress)).status).toBe(503);
  clock.advance(10_050);
  await waitUntil(() =>
    server.received.every(({ rpcMethod, signal }) => rpcMethod !== progress.method || signal.aborted),
  );
});
