// A server that was silent is remembered: later lists and sessions do not wait for it, until it responds to a
// probe.
import { afterAll, expect, test } from "bun:test";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { readMetrics } from "../support/prometheus-text.ts";
import { seedMcp, SessionClient, StatelessClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { eventLoopTurns, passTimeUntil, waitFor } from "../support/waiting.ts";

const gatehouse = await startGatehouseInProcess();
afterAll(() => gatehouse.stop());
const { clock } = gatehouse;
const servers = useMcpServers({
  up: { tools: { read: {} } },
  flaky: { tools: { find: {} } },
});
const UNAVAILABLE = "gatehouse/unavailable_servers";

const seed = (fields: object = {}) =>
  seedMcp(gatehouse, { up: servers.up.url, flaky: { url: servers.flaky.url, ...fields } });

type List = Awaited<ReturnType<StatelessClient["request"]>>;

const namesIn = ({ result }: List) => (result["tools"] as { name: string }[]).map(({ name }) => name);
const missingIn = ({ result }: List) =>
  (result["_meta"] as Record<string, unknown> | undefined)?.[UNAVAILABLE];

async function readiness(): Promise<Record<string, string>> {
  const response = await fetch(`${gatehouse.adminUrl}/readyz`);
  return (
    ((await response.json()) as { silent_mcp_servers?: Record<string, string> }).silent_mcp_servers ?? {}
  );
}

/** Lets time pass until the gateway has sent a probe that the server has answered. */
async function untilListed(client: StatelessClient): Promise<List> {
  return waitFor(async () => {
    clock.advance(1000);
    const list = await passTimeUntil(clock, client.request("tools/list"));
    return missingIn(list) === undefined ? list : null;
  });
}

test("lists and sessions wait for a silent server once, and have it again when it responds", async () => {
  const { url, gateway } = await seed();
  const client = new StatelessClient(url);
  servers.flaky.isSilent = true;
  const first = await passTimeUntil(clock, client.request("tools/list"));
  expect([namesIn(first), missingIn(first)]).toEqual([["up__read"], ["flaky"]]);
  // Without any time passing: they would not end if they waited.
  for (const method of ["tools/list", "prompts/list", "resources/list", "resources/templates/list"])
    expect([method, missingIn(await client.request(method))]).toEqual([method, ["flaky"]]);
  const session = await SessionClient.start(url);
  expect(session.initialized?.result["_meta"]).toEqual({ [UNAVAILABLE]: ["flaky"] });
  const discovered = await client.request("server/discover");
  expect(missingIn(discovered)).toEqual(["flaky"]);
  const call = await client.request("tools/call", { name: "flaky__find", arguments: {} });
  expect(call.error?.["message"]).toContain('The server "flaky" did not respond');
  expect(await readiness()).toEqual({
    [`${gateway}/flaky`]: expect.stringContaining("no response"),
  });
  const page = readMetrics(await (await fetch(`${gatehouse.adminUrl}/metrics`)).text());
  expect(page.sum("gatehouse_mcp_server_silent", { server: "flaky" })).toBe(1);
  servers.flaky.isSilent = false;
  expect(namesIn(await untilListed(client))).toEqual(["flaky__find", "up__read"]);
  expect(await readiness()).toEqual({});
});

test("a server that only keeps one kind of list back is left out of this list only", async () => {
  const { url } = await seed();
  const client = new StatelessClient(url);
  servers.flaky.silentMethods.add("resources/list");
  const first = await passTimeUntil(clock, client.request("resources/list"));
  expect(missingIn(first)).toEqual(["flaky"]);
  expect(missingIn(await client.request("resources/list"))).toEqual(["flaky"]);
  expect(missingIn(await client.request("tools/list"))).toBeUndefined();
  servers.flaky.silentMethods.clear();
  await waitFor(async () => {
    clock.advance(1000);
    const list = await passTimeUntil(clock, client.request("resources/list"));
    return missingIn(list) === undefined ? list : null;
  });
});

test("a server that responds to probes only is asked by clients less and less often", async () => {
  const { url } = await seed();
  const client = new StatelessClient(url);
  // A probe follows each list that was not answered.
  let count = 0;
  servers.flaky.isSilentTo = ({ rpcMethod }) => rpcMethod === "tools/list" && count++ % 2 === 0;
  let waited = 0;
  const startedAt = clock.now();
  while (clock.now() - startedAt < 120_000) {
    const before = clock.now();
    await passTimeUntil(clock, client.request("tools/list"));
    if (clock.now() - before >= 4000) waited++;
    clock.advance(1000);
    await eventLoopTurns();
  }
  servers.flaky.isSilentTo = null;
  expect(waited).toBeLessThan(10);
});

test("with a client's own credential, silence concerns this credential only", async () => {
  const { url } = await seed({ forward_authorization: true });
  const header = "X-MCP-flaky-Authorization";
  servers.flaky.isSilentTo = ({ headers }) => headers.get("authorization") === "Bearer slow";
  const slow = new StatelessClient(url, { [header]: "Bearer slow" });
  const fast = new StatelessClient(url, { [header]: "Bearer fast" });
  expect(missingIn(await passTimeUntil(clock, slow.request("tools/list")))).toEqual(["flaky"]);
  expect(missingIn(await slow.request("tools/list"))).toEqual(["flaky"]);
  expect(missingIn(await fast.request("tools/list"))).toBeUndefined();
  servers.flaky.isSilentTo = null;
  expect(namesIn(await untilListed(slow))).toEqual(["flaky__find", "up__read"]);
});
