// Merged lists of many tools: their bounds, and those that are written in several turns of the event loop.
import { afterAll, expect, spyOn, test } from "bun:test";
import { ItemAccess } from "../../src/mcp/item-access.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { seedMcp, StatelessClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { seedKey } from "../support/proxy-fixtures.ts";

const gatehouse = await startGatehouseInProcess();
afterAll(() => gatehouse.stop());

const toolsOf = (count: number, definition: Record<string, unknown> = {}) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`t${at}`, { definition }]));
const servers = useMcpServers({
  one: { tools: toolsOf(4000) },
  two: { tools: toolsOf(4000) },
  three: { tools: toolsOf(4000) },
  paged: { tools: toolsOf(200, { description: "é".repeat(1000) }) },
  hostile: {},
});

const namesIn = (result: Record<string, unknown>) =>
  (result["tools"] as { name: string }[]).map(({ name }) => name);

test("a server whose list does not fit beside the others is left out and named", async () => {
  const { url } = await seedMcp(gatehouse, {
    one: servers.one.url,
    two: servers.two.url,
    three: servers.three.url,
  });
  const client = new StatelessClient(url);
  const { result } = await client.request("tools/list");
  const names = namesIn(result);
  expect(names).toHaveLength(8000);
  expect(names.some((name) => name.startsWith("three__"))).toBe(false);
  expect(result).toMatchObject({ ttlMs: 0, _meta: { "gatehouse/unavailable_servers": ["three"] } });
  const called = await client.request("tools/call", { name: "three__t1", arguments: {} });
  expect(called.result).toMatchObject({ content: [{ type: "text", text: "t1 {}" }] });
});

test("a large list of small pages is complete and in order", async () => {
  servers.paged.pageSize = 10;
  const { url } = await seedMcp(gatehouse, { paged: servers.paged.url, two: servers.two.url });
  const { result } = await new StatelessClient(url).request("tools/list");
  const names = namesIn(result);
  expect(names).toHaveLength(4200);
  expect(names).toEqual(names.toSorted());
  const [first] = result["tools"] as Record<string, unknown>[];
  expect(first).toEqual({
    name: "paged__t0",
    description: "é".repeat(1000),
    inputSchema: { type: "object" },
  });
});

test("patterns of a key are matched against a long list in several turns of the event loop", async () => {
  const uris = Array.from({ length: 1000 }, (_, at) => `memo://${at}/${"%2".repeat(1500)}`);
  const resources = [...uris, `memo://1${"x".repeat(8192)}`].map((uri) => ({ name: "n", uri }));
  servers.hostile.results["resources/list"] = { resultType: "complete", resources };
  const { url, gateway } = await seedMcp(gatehouse, { one: servers.hostile.url });
  const { key } = await seedKey(gatehouse, gateway, { tools: ["one__memo://1*"] });
  const spy = spyOn(ItemAccess.prototype, "mayUse");
  const matched = new Set<number>();
  let isRunning = true;
  const everyTurn = () => {
    matched.add(spy.mock.calls.length);
    if (isRunning) setImmediate(everyTurn);
  };
  everyTurn();
  const { result } = await new StatelessClient(url, { "X-GW-API-Key": key }).request("resources/list");
  isRunning = false;
  spy.mockRestore();
  expect((result["resources"] as { uri: string }[]).map(({ uri }) => uri)).toEqual(
    uris.filter((uri) => uri.startsWith("memo://1")).sort(),
  );
  expect([...matched].some((count) => count > 0 && count < uris.length)).toBe(true);
});
