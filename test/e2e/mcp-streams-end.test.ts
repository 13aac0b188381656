// Streams of MCP clients and realtime WebSockets end with the key or token that opened them, although neither
// side sends anything.
import { afterAll, describe, expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import {
  listenMcp,
  postMcp,
  seedMcp,
  SessionClient,
  StatelessClient,
  useMcpServers,
} from "../support/mcp-fixtures.ts";
import { seedKey, seedRoute } from "../support/proxy-fixtures.ts";
import { openRealtime, useRealtimeProvider } from "../support/realtime-provider.ts";
import { useTokenIssuer } from "../support/token-issuer.ts";
import { eventLoopTurns, passTimeUntil, waitFor, waitUntil } from "../support/waiting.ts";

/** A stream ends within this time of the clock. */
const LIMIT_MS = 2000;

const gatehouse = await startGatehouseInProcess({ env: { PUBLIC_URL: "https://tools.example.com" } });
afterAll(() => gatehouse.stop());
const { clock } = gatehouse;
const servers = useMcpServers({ one: { tools: { read: {}, write: {} } }, two: { tools: { read: {} } } });
const provider = useRealtimeProvider();
const issuer = await useTokenIssuer();

type Route = { readonly gateway: string; readonly service: string };
type Change = (key: { readonly id: string }, route: Route) => Promise<unknown> | undefined;

const patchKey =
  (fields: object): Change =>
  async ({ id }) => {
    const { status, body } = await gatehouse.api("PATCH", `/iam/api-keys/${id}`, fields);
    expect([status, body]).toEqual([200, expect.anything()]);
  };

const CHANGES: Record<string, Change> = {
  revoked: ({ id }) => gatehouse.api("DELETE", `/iam/api-keys/${id}`),
  "restricted to other rules": async (key, { gateway, service: service_id }) => {
    const fields = { path: `/other-${key.id}`, methods: ["POST"], service_id };
    const rule = await create(gatehouse, `/gateways/${gateway}/rules`, fields);
    return patchKey({ policies: [rule.id] })(key, { gateway, service: service_id });
  },
  expired() {
    clock.advance(60_000);
    return undefined;
  },
};

/**
 * Lets time pass until the body of the response ends, and resolves to it. Fails if that takes longer than
 * LIMIT_MS.
 */
async function untilEnd(response: Response): Promise<string> {
  const startedAt = clock.now();
  const text = await passTimeUntil(clock, response.text());
  expect(clock.now() - startedAt).toBeLessThanOrEqual(LIMIT_MS);
  return text;
}

async function seedWithKey(fields: object = {}) {
  const route = await seedMcp(gatehouse, { one: servers.one.url, two: servers.two.url });
  const expires_at = new Date(clock.unixNow() + 60_000).toISOString();
  const key = await seedKey(gatehouse, route.gateway, { expires_at, ...fields });
  return { ...route, key, headers: { "X-GW-API-Key": key.key } };
}

async function recordOf(gateway: string, code: string) {
  return waitFor(async () => {
    const { body } = await gatehouse.api("GET", `/gateways/${gateway}/requests`);
    const records = body.requests as { error_code: string | null; outcome: string }[];
    return records.find(({ error_code }) => error_code === code) ?? null;
  });
}

describe.each(Object.entries(CHANGES))("a key that is %s", (_what, change) => {
  test("ends the stream of a session, and the servers' streams with it", async () => {
    const route = await seedWithKey();
    const { url, key, headers } = route;
    const client = await SessionClient.start(url, { headers });
    const response = await client.stream(AbortSignal.timeout(60_000));
    await waitUntil(() => servers.one.openStreams > 0 && servers.two.openStreams > 0);
    await change(key, route);
    await untilEnd(response);
    await waitUntil(() => servers.one.openStreams === 0 && servers.two.openStreams === 0);
    expect(await recordOf(route.gateway, "invalid_api_key")).toMatchObject({ outcome: "refused" });
  });

  test("ends a subscription of a stateless client with an error", async () => {
    const route = await seedWithKey();
    const { url, key, headers } = route;
    const response = await listenMcp(url, { toolsListChanged: true }, { headers });
    await waitUntil(() => servers.one.openStreams > 0);
    await change(key, route);
    expect(await untilEnd(response)).toContain('"code":"invalid_api_key"');
    await waitUntil(() => servers.one.openStreams === 0);
  });

  test("ends a call that streams, and cancels it at the server", async () => {
    const route = await seedWithKey();
    const { url, key, headers } = route;
    const called = Promise.withResolvers<AbortSignal>();
    servers.one.tools["endless"] = {
      isStream: true,
      run({ signal }, send) {
        send({ method: "notifications/progress", params: { progressToken: 1, progress: 1 } });
        called.resolve(signal);
        return new Promise(() => undefined);
      },
    };
    const client = new StatelessClient(url, headers);
    const response = client.request("tools/call", { name: "one__endless", arguments: {} });
    const signal = await called.promise;
    await change(key, route);
    const startedAt = clock.now();
    const { last } = await passTimeUntil(clock, response);
    expect(clock.now() - startedAt).toBeLessThanOrEqual(LIMIT_MS);
    expect(last).toMatchObject({ error: { data: { code: "invalid_api_key" } } });
    await waitUntil(() => signal.aborted);
  });

  test("closes a realtime WebSocket on which the client sends nothing", async () => {
    const route = await seedRoute(gatehouse, {
      upstream: { targets: [{ provider: "openai", base_url: provider.url, path: "/v1/realtime" }] },
      rule: { path: "/realtime", methods: ["GET"] },
    });
    const expires_at = new Date(clock.unixNow() + 60_000).toISOString();
    const key = await seedKey(gatehouse, route.gateway, { expires_at });
    const client = await openRealtime(gatehouse.proxyUrl + route.path, {
      headers: { "X-GW-API-Key": key.key },
    });
    await provider.socket();
    await change(key, route);
    const startedAt = clock.now();
    expect(await passTimeUntil(clock, client.closed)).toMatchObject({ code: 1008 });
    expect(clock.now() - startedAt).toBeLessThanOrEqual(LIMIT_MS);
    await gatehouse.api("DELETE", `/gateways/${route.gateway}?cascade=true`);
  });
});

test("a stream ends when the tools of its key change, and stays open when its name does", async () => {
  const route = await seedWithKey({ tools: ["one__*", "two__*"], expires_at: null });
  const { url, key, headers } = route;
  const client = await SessionClient.start(url, { headers });
  const response = await client.stream(AbortSignal.timeout(60_000));
  let hasEnded = false;
  const text = response.text().finally(() => (hasEnded = true));
  await patchKey({ name: "renamed" })(key, route);
  for (let at = 0; at < 10; at++) {
    clock.advance(500);
    await eventLoopTurns();
  }
  expect(hasEnded).toBe(false);
  await patchKey({ tools: ["one__read"] })(key, route);
  await passTimeUntil(clock, text);
});

test("a call that streams ends when its key may not use the tool any more, and not for another change", async () => {
  const route = await seedWithKey({ tools: ["one__*"], expires_at: null });
  const called = Promise.withResolvers<undefined>();
  const proceed = Promise.withResolvers<undefined>();
  servers.one.tools["waits"] = {
    isStream: true,
    async run(_call, send) {
      send({ method: "notifications/progress", params: { progressToken: 1, progress: 1 } });
      called.resolve(undefined);
      await proceed.promise;
      return { content: [] };
    },
  };
  const client = new StatelessClient(route.url, route.headers);
  const call = () => client.request("tools/call", { name: "one__waits", arguments: {} });
  const served = call();
  await called.promise;
  await patchKey({ tools: ["one__waits", "two__*"] })(route.key, route);
  for (let at = 0; at < 10; at++) {
    clock.advance(500);
    await eventLoopTurns();
  }
  proceed.resolve(undefined);
  expect((await served).error).toBeUndefined();
  servers.one.tools["waits"] = { isStream: true, run: endlessly };
  const calls = servers.one.received.length;
  const third = call();
  await waitUntil(() =>
    servers.one.received.slice(calls).some(({ rpcMethod }) => rpcMethod === "tools/call"),
  );
  await patchKey({ tools: ["two__*"] })(route.key, route);
  expect((await passTimeUntil(clock, third)).last).toMatchObject({
    error: { data: { code: "rule_not_allowed" } },
  });
});

function endlessly(_call: unknown, send: (message: Record<string, unknown>) => void): Promise<never> {
  send({ method: "notifications/progress", params: { progressToken: 1, progress: 1 } });
  return new Promise(() => undefined);
}

test("a stream ends when its rule or its server is no longer there", async () => {
  for (const change of ["rule", "server"]) {
    const { url, gateway, rule, servers: ids, headers } = await seedWithKey({ expires_at: null });
    const client = await SessionClient.start(url, { headers });
    const response = await client.stream(AbortSignal.timeout(60_000));
    const path = change === "rule" ? `rules/${rule}` : `mcp-servers/${ids["two"]}`;
    const fields = change === "rule" ? { active: false } : { enabled: false };
    expect((await gatehouse.api("PATCH", `/gateways/${gateway}/${path}`, fields)).status).toBe(200);
    await untilEnd(response);
  }
});

describe("tokens", () => {
  async function open(claims: Record<string, unknown>) {
    const jwt_issuers = [issuer.record()];
    const route = await seedMcp(
      gatehouse,
      { one: servers.one.url },
      { gateway: { require_api_key: true, jwt_issuers } },
    );
    const now = Math.floor(clock.unixNow() / 1000);
    const token = await issuer.sign({ iat: now, exp: now + 60, ...claims });
    const client = await SessionClient.start(route.url, { headers: { Authorization: `Bearer ${token}` } });
    return { ...route, response: await client.stream(AbortSignal.timeout(60_000)), client };
  }

  test("a stream ends when its token expires", async () => {
    const { response, client, gateway } = await open({});
    clock.advance(60_000);
    await untilEnd(response);
    expect(await recordOf(gateway, "invalid_token")).toMatchObject({ outcome: "refused" });
    clock.advance(60_000);
    expect((await postMcp(client.url, "{}", client.allHeaders)).status).toBe(401);
  });

  test("a stream ends when the gateway no longer accepts the issuer", async () => {
    const { response, gateway } = await open({});
    await gatehouse.api("PATCH", `/gateways/${gateway}`, { jwt_issuers: [] });
    await untilEnd(response);
  });
});
