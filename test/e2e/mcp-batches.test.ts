// Batches of 2025-03-26: every message counts in limits, a batch that does not fit is refused whole, and a message that fails does not
// end the others.
import { afterAll, describe, expect, test } from "bun:test";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { seedMcp, SessionClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { startRedis } from "../support/redis.ts";
import { waitUntil } from "../support/waiting.ts";

const servers = useMcpServers({ one: { tools: { read: {} } }, two: { generation: "session" } });
servers.one.completes = true;

const MESSAGES: Record<string, object> = {
  "tools/list": {},
  "prompts/list": {},
  "prompts/get": { name: "greet" },
  "resources/read": { uri: "memo://notes" },
  "completion/complete": {
    ref: { type: "ref/prompt", name: "greet" },
    argument: { name: "a", value: "" },
  },
  ping: {},
};

const redis = await startRedis();
const gateways = {
  memory: await startGatehouseInProcess(),
  redis: await startGatehouseInProcess({ env: { REDIS_URL: redis.url } }),
};
afterAll(async () => {
  for (const gatehouse of Object.values(gateways)) await gatehouse.stop();
  await redis.stop();
});

describe.each(["memory", "redis"] as const)("limits in %s", (where) => {
  const gatehouse = gateways[where];

  async function clientWith(total: number, others: object = {}): Promise<SessionClient> {
    const limits = { global: { limit: total + 2, window: "1h" }, ...others };
    const required_plugins = [{ name: "rate_limiter", stage: "pre_request", settings: { limits } }];
    const route = await seedMcp(gatehouse, { one: servers.one.url }, { gateway: { required_plugins } });
    return SessionClient.start(route.url, { version: "2025-03-26" });
  }

  const batch = (count: number, method: string, params: object) =>
    Array.from({ length: count }, (_, id) => ({ jsonrpc: "2.0", id, method, params }));

  test.each(Object.entries(MESSAGES))("%s counts once for each message", async (method, params) => {
    const client = await clientWith(10);
    const first = await client.post(batch(8, method, params));
    expect(first.status).toBe(200);
    expect(JSON.parse(first.text)).toHaveLength(8);
    const before = servers.one.received.length;
    const refused = await client.post(batch(3, method, params));
    expect(refused.status).toBe(429);
    expect(refused.error).toMatchObject({ data: { code: "rate_limit_exceeded" } });
    expect(servers.one.received.length).toBe(before);
    // Nothing of the refused batch was counted.
    expect((await client.post(batch(2, method, params))).status).toBe(200);
    expect((await client.post(batch(1, method, params))).status).toBe(429);
  });

  test("notifications count as well, and a limit per tool counts the call only", async () => {
    const client = await clientWith(6, { per_tool: { limit: 2, window: "1h" } });
    const [call] = batch(1, "tools/call", { name: "read", arguments: {} });
    const notification = { jsonrpc: "2.0", method: "notifications/progress", params: {} };
    expect((await client.post([call, notification])).status).toBe(200);
    expect((await client.post([call, notification])).status).toBe(200);
    expect((await client.post([call])).status).toBe(429);
    expect((await client.post([notification, notification, notification])).status).toBe(429);
    expect((await client.post([notification, notification])).status).toBe(202);
  });

  test("a batch that is larger than the limit never fits, and says so", async () => {
    const client = await clientWith(3);
    const refused = await client.post(batch(6, "ping", {}));
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBeNull();
    expect(refused.error?.["message"]).toContain("The batch has more messages than the limit allows");
    expect((await client.post(batch(3, "ping", {}))).status).toBe(200);
  });
});

test.each([
  ["equal", "1", "1"],
  ["equal as doubles", "9007199254740992", "9007199254740993"],
])(
  "a batch with ids that are %s is rejected: guards read a list by the id of its request",
  async (_, a, b) => {
    const rules = [{ tool: "read", source: "offered", action: "strip" }];
    const required_plugins = [{ name: "tool_policy", stage: "pre_request", settings: { rules } }];
    const route = await seedMcp(gateways.memory, { one: servers.one.url }, { gateway: { required_plugins } });
    const client = await SessionClient.start(route.url, { version: "2025-03-26" });
    const list = (id: string) => `{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`;
    const ping = (id: string) => `{"jsonrpc":"2.0","id":${id},"method":"ping"}`;
    const refused = await client.post(`[${list(a)},${ping(b)}]`);
    expect(refused.status).toBe(400);
    expect(refused.error?.["message"]).toContain("two requests with the same id");
    const listed = await client.post(`[${list(a)},${ping("5")}]`);
    expect(listed.status).toBe(200);
    expect(listed.text).toContain('"tools":[]');
  },
);

test("a response that belongs to no request does not end a call of the same batch", async () => {
  const { two } = servers;
  const progress = { method: "notifications/progress", params: { progressToken: 1, progress: 1 } };
  const content = [{ type: "text", text: "the result" }];
  const [called, go] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  two.tools["report"] = {
    isStream: true,
    run: async (_, send) => {
      called.resolve(undefined);
      await go.promise;
      send(progress);
      return { content };
    },
  };
  const route = await seedMcp(gateways.memory, { two: two.url });
  const client = await SessionClient.start(route.url, { version: "2025-03-26" });
  const unknown = { jsonrpc: "2.0", id: "no such request", result: {} };
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "report", arguments: {} } };
  const batch = client.post([unknown, call]);
  await called.promise;
  go.resolve(undefined);
  const { status, text } = await batch;
  const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data) as unknown);
  expect([status, events]).toMatchObject([200, [progress, [{ id: 1, result: { content } }]]]);
  const changed = { jsonrpc: "2.0", method: "notifications/roots/list_changed" };
  const refused = await client.post([unknown, changed]);
  expect([refused.status, refused.error?.["message"]]).toEqual([400, expect.stringContaining("no request")]);
  await waitUntil(() => two.methods.includes(changed.method));
});
