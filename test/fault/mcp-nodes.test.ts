// Sessions of MCP clients on three nodes behind HAProxy: any node serves any session, and restarting the nodes one after the other
// loses none. 3 restarts, and 50 in the long form.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { startLoad } from "../support/load.ts";
import { runs } from "../support/long-form.ts";
import { postMcp, seedMcp, SessionClient, StatelessClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { hasHaproxy, startHaproxy, type CheckingBalancer } from "../support/load-balancers.ts";
import { hasPostgres, sharedPostgres } from "../support/postgres.ts";
import { seedKey } from "../support/proxy-fixtures.ts";
import { hasRedis, startRedis, type RedisServer } from "../support/redis.ts";
import { untilAllFollow } from "../support/shared-nodes.ts";
import { waitUntil } from "../support/waiting.ts";
import { freePort } from "../support/free-port.ts";

const RESTARTS = runs({ short: 3, long: 50 });
const CLIENTS = 6;
const START_MS = 60_000;
/** Longer than the balancer needs to notice. */
const DRAIN_DELAY_MS = 3000;
/** Longer than the drain delay, so that a node that stops has calls in progress. */
const SLOW_MS = DRAIN_DELAY_MS + 200;

const slow = {
  isStream: true,
  run: async (
    { params }: { params: Record<string, unknown> },
    send: (message: Record<string, unknown>) => void,
  ) => {
    send({ method: "notifications/progress", params: { progressToken: "p", progress: 1 } });
    await Bun.sleep(SLOW_MS);
    return { content: [{ type: "text", text: JSON.stringify(params["arguments"]) }] };
  },
};
const servers = useMcpServers({
  session: { generation: "session", tools: { echo: {}, slow } },
  stateless: { generation: "stateless", tools: { echo: {}, slow } },
});

describe.skipIf(!hasPostgres || !hasRedis || !hasHaproxy)("three nodes", () => {
  let redis: RedisServer;
  let balancer: CheckingBalancer;
  let databaseUrl = "";
  let route: Awaited<ReturnType<typeof seedMcp>>;
  let keys: readonly string[] = [];
  const nodes: GatehouseProcess[] = [];

  const startNode = (ports: { admin: number; proxy: number }) =>
    startGatehouseProcess({
      env: {
        DATABASE_URL: databaseUrl,
        REDIS_URL: redis.url,
        WORKERS: "1",
        ADMIN_PORT: String(ports.admin),
        PROXY_PORT: String(ports.proxy),
        DRAIN_DELAY_MS: String(DRAIN_DELAY_MS),
      },
    });
  const portsOf = ({ adminUrl, proxyUrl }: GatehouseProcess) => ({
    admin: Number(new URL(adminUrl).port),
    proxy: Number(new URL(proxyUrl).port),
  });
  const keyHeader = (key: string | undefined) => ({ "X-GW-API-Key": key ?? "" });
  const urlOn = (node: number) => `${nodes[node]!.proxyUrl}${route.path}`;

  beforeAll(async () => {
    const postgres = await sharedPostgres();
    [redis, databaseUrl] = await Promise.all([startRedis(), postgres.createMigrated()]);
    const ports = [];
    for (let node = 0; node < 3; node++) ports.push({ admin: freePort(), proxy: freePort() });
    nodes.push(...(await Promise.all(ports.map(startNode))));
    balancer = await startHaproxy(ports.map(({ proxy }) => proxy));
    const [first] = nodes;
    route = await seedMcp(
      first!,
      { session: servers.session.url, stateless: servers.stateless.url },
      { gateway: { require_api_key: true } },
    );
    const created = [await seedKey(first!, route.gateway), await seedKey(first!, route.gateway)];
    keys = created.map(({ key }) => key);
    await untilAllFollow(nodes);
  }, START_MS);
  afterAll(async () => {
    await balancer.stop();
    await Promise.all(nodes.map((node) => node.stop()));
    await redis.stop();
  });

  test("a session that was opened on one node is served on the others, for its key only", async () => {
    const client = await SessionClient.start(urlOn(0), { headers: keyHeader(keys[0]) });
    const started = servers.session.sessions.size;
    const [own] = [...servers.session.sessions].slice(-1);
    expect(client.sessionId).toMatch(/^gwm1[\w-]+$/);
    expect(Buffer.from(client.sessionId.slice(4), "base64url").toString("latin1")).not.toContain(own!);
    for (const node of [1, 2]) {
      const post = (method: string, params: object, key = keys[0]) =>
        postMcp(
          urlOn(node),
          { jsonrpc: "2.0", id: node, method, params },
          { ...client.allHeaders, ...keyHeader(key) },
        );
      for (const server of ["session", "stateless"]) {
        const called = await post("tools/call", { name: `${server}__echo`, arguments: { node } });
        expect(called.result).toMatchObject({ content: [{ text: `echo {"node":${node}}` }] });
      }
      expect(servers.session.received.at(-1)?.headers.get("mcp-session-id")).toBe(own);
      const other = await post("tools/call", { name: "session__echo", arguments: {} }, keys[1]);
      expect(other.status).toBe(404);
    }
    // No node has started another session at the server.
    expect(servers.session.sessions.size).toBe(started);
    const ended = await fetch(urlOn(2), { method: "DELETE", headers: client.allHeaders });
    expect(ended.status).toBe(204);
    expect(servers.session.sessions.has(own!)).toBe(false);
  });

  test("a request is canceled through another node than the one that serves it", async () => {
    const client = await SessionClient.start(urlOn(0), { headers: keyHeader(keys[0]) });
    const before = servers.session.received.length;
    const since = () => servers.session.received.slice(before);
    const call = client.request("tools/call", { name: "session__slow", arguments: {} }, "elsewhere");
    await waitUntil(() => since().some(({ rpcMethod }) => rpcMethod === "tools/call"));
    const params = { requestId: "elsewhere" };
    await postMcp(urlOn(1), { jsonrpc: "2.0", method: "notifications/cancelled", params }, client.allHeaders);
    await waitUntil(() => since().some(({ rpcMethod }) => rpcMethod === "notifications/cancelled"));
    const canceled = since().find(({ rpcMethod }) => rpcMethod === "notifications/cancelled");
    const called = since().find(({ rpcMethod }) => rpcMethod === "tools/call");
    expect(canceled?.params["requestId"]).toBe(called?.id);
    expect(canceled?.headers.get("mcp-session-id")).toBe(called!.headers.get("mcp-session-id"));
    await call;
  });

  test(
    `${RESTARTS} rolling restarts lose no session and fail no call`,
    async () => {
      const url = `${balancer.url}${route.path}`;
      const clients = await Promise.all(
        Array.from({ length: CLIENTS }, () => SessionClient.start(url, { headers: keyHeader(keys[0]) })),
      );
      const sessions = [...servers.session.sessions];
      const problems: string[] = [];
      let calls = 0;
      const call = async (client: SessionClient, at: number) => {
        const name = `${at % 2 === 0 ? "session" : "stateless"}__${at % 3 === 0 ? "slow" : "echo"}`;
        const { status, text } = await client.request("tools/call", { name, arguments: { at } });
        calls++;
        if (status !== 200 || !text.includes(`{\\"at\\":${at}}`)) problems.push(`${status} ${text}`);
      };
      const abort = new AbortController();
      const streams = clients.map((client) => openStreams(client, abort.signal, problems));
      const endCalls = startLoad(CLIENTS, (client, round) =>
        call(clients[client]!, client + round).catch((error: unknown) => problems.push(String(error))),
      );
      for (let restart = 0; restart < RESTARTS; restart++) {
        const node = nodes[restart % nodes.length]!;
        node.signal("SIGTERM");
        expect(await node.exited).toBe(0);
        nodes[restart % nodes.length] = await startNode(portsOf(node));
        await waitUntil(async () => (await balancer.healthyPorts()).length === nodes.length);
      }
      await endCalls();
      expect(problems).toEqual([]);
      expect(calls).toBeGreaterThan(CLIENTS);
      // Every client still has its own session with the server, and none was started since.
      expect([...servers.session.sessions]).toEqual(sessions);
      await waitUntil(() => {
        servers.session.broadcast({
          method: "notifications/resources/updated",
          params: { uri: "memo://notes" },
        });
        return streams.every(({ received }) => received().includes('"uri":"session+memo://notes"'));
      });
      abort.abort();
      await Promise.all(streams.map(({ ended }) => ended));
      expect(problems).toEqual([]);
    },
    START_MS + RESTARTS * 10_000,
  );

  test("a stateless client on a session-only server keeps working when its node restarts", async () => {
    const client = new StatelessClient(urlOn(0), keyHeader(keys[0]));
    const call = () => client.request("tools/call", { name: "session__echo", arguments: { a: 1 } });
    const expected = { resultType: "complete", content: [{ type: "text", text: 'echo {"a":1}' }] };
    expect((await call()).result).toEqual(expected);
    const [node] = nodes;
    node!.signal("SIGTERM");
    expect(await node!.exited).toBe(0);
    nodes[0] = await startNode(portsOf(node!));
    expect((await call()).result).toEqual(expected);
  }, 60_000);
});

interface OpenStreams {
  /** What the current stream has received. */
  readonly received: () => string;
  readonly ended: Promise<void>;
}

/** Opens the stream of messages without a request, and again whenever a node ends it, as clients do. */
function openStreams(client: SessionClient, signal: AbortSignal, problems: string[]): OpenStreams {
  let text = "";
  const run = async () => {
    while (!signal.aborted) {
      const response = await client.stream(signal);
      if (response.status !== 200) {
        problems.push(`stream: ${response.status} ${await response.text()}`);
        return;
      }
      text = "";
      const decoder = new TextDecoder();
      for await (const bytes of response.body ?? []) text += decoder.decode(bytes, { stream: true });
    }
  };
  const ended = run().catch((error: unknown) => {
    if (!signal.aborted) problems.push(`stream: ${String(error)}`);
  });
  return { received: () => text, ended };
}
