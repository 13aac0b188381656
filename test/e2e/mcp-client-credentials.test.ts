// Credentials of servers that clients make up: they fill no cache without a bound, and do not take the place
// of other clients'.
import { afterAll, expect, test } from "bun:test";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { seedMcp, StatelessClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { seedKey } from "../support/proxy-fixtures.ts";
import { waitUntil } from "../support/waiting.ts";

const gatehouse = await startGatehouseInProcess();
afterAll(() => gatehouse.stop());
const servers = useMcpServers({ one: { generation: "stateless" } });
const HEADER = "X-MCP-one-Authorization";

/** Every credential gets this list of about 250 kB. */
servers.one.tools = Object.fromEntries(
  Array.from({ length: 100 }, (_, index) => [`t${index}`, { definition: { description: "x".repeat(2500) } }]),
);

async function seed() {
  const fields = { url: servers.one.url, forward_authorization: true };
  const route = await seedMcp(gatehouse, { one: fields });
  const keys = [await seedKey(gatehouse, route.gateway), await seedKey(gatehouse, route.gateway)];
  const list = (key: number, credential: string | null) =>
    new StatelessClient(route.url, {
      "X-GW-API-Key": keys[key]?.key ?? "",
      ...(credential !== null && { [HEADER]: `Bearer ${credential}` }),
    }).request("tools/list");
  return { ...route, list };
}

/** The number of lists that the server has sent meanwhile. */
async function listsSent(work: () => Promise<unknown>): Promise<number> {
  const before = servers.one.methods.filter((method) => method === "tools/list").length;
  await work();
  return servers.one.methods.filter((method) => method === "tools/list").length - before;
}

test("a flood of one key evicts only its own lists, and not those of other keys, gateways, and the server's own", async () => {
  servers.one.ttlMs = 300_000;
  const { list } = await seed();
  const other = await seed();
  const kept = [
    () => list(0, null),
    () => list(1, "of-another-key"),
    () => other.list(0, "of-another-gateway"),
  ];
  for (const each of kept) await each();
  await list(0, "first");
  expect(await listsSent(() => list(0, "first"))).toBe(0);
  for (let at = 0; at < 60; at++) await list(0, `made-up-${at}`);
  expect(await listsSent(() => list(0, "made-up-59"))).toBe(0);
  expect(await listsSent(() => list(0, "first"))).toBe(1);
  for (const each of kept) expect(await listsSent(each)).toBe(0);
});

test("connections of made-up credentials are closed, those of refused ones at once", async () => {
  servers.one.ttlMs = 0;
  servers.one.tools = {};
  const { list } = await seed();
  servers.one.refuses = /refused/;
  const before = servers.one.connections;
  for (let at = 0; at < 20; at++) await list(0, `refused-${at}`);
  await waitUntil(() => servers.one.connections <= before);
  servers.one.refuses = null;
  for (let at = 0; at < 100; at++) await list(0, `invented-${at}`);
  await waitUntil(() => servers.one.connections <= before + 64);
  expect(servers.one.connections).toBeGreaterThan(before);
});
