// Pins of tools with a real store: across restarts and nodes, and while the store is not available.
import { afterEach, expect, test } from "bun:test";
import { closeOpened, insert, openForTest } from "../../test/contract/store-fixture.ts";
import { gatewayRecord, mcpServerRecord, temporarySqliteUrl } from "../../test/contract/store-records.ts";
import { waitUntil } from "../../test/support/waiting.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import type { Store } from "../store/store.ts";
import { createLog } from "../telemetry/log/log.ts";
import { StoredToolPins } from "./stored-tool-pins.ts";

const printed: string[] = [];
const log = createLog({ level: "warn", format: "json" }, { write: (line) => void printed.push(line) });
const clock = new ManualClock();
const started: StoredToolPins[] = [];

afterEach(async () => {
  for (const pins of started.splice(0)) await pins.close();
  await closeOpened();
});

async function node(store: Pick<Store, "mcpTools">): Promise<StoredToolPins> {
  const pins = new StoredToolPins(store, log, clock);
  started.push(pins);
  await pins.load().catch(() => undefined);
  return pins;
}

const tool = (hash: string, name = "search") => ({ name, hash, definition: { name, description: hash } });

const listed = (tools: readonly ReturnType<typeof tool>[], memory = 0) => ({ tools, memory });

/** Returns the store with another function for the first thing that is read. */
function withVersions(
  { mcpTools }: Pick<Store, "mcpTools">,
  versions: typeof mcpTools.versions,
): Pick<Store, "mcpTools"> {
  return {
    mcpTools: {
      versions,
      hashes: (...values) => mcpTools.hashes(...values),
      list: (...values) => mcpTools.list(...values),
      record: (...values) => mcpTools.record(...values),
      approve: (...values) => mcpTools.approve(...values),
    },
  };
}

async function seed() {
  const url = temporarySqliteUrl();
  const store = openForTest(url);
  const gateway = await insert(store, "gateways", gatewayRecord());
  const server = await insert(store, "mcp_servers", mcpServerRecord(gateway.id, { pin: "hold" }));
  const stored = async (hash: string) => {
    await waitUntil(async () => {
      clock.advance(1000);
      return (await store.mcpTools.hashes(server.id)).some((each) => each.hash === hash);
    });
  };
  return { url, store, gateway: gateway.id, server, stored };
}

test("the definition that was seen first is offered, and another one is withheld until it is approved", async () => {
  const { store, gateway, server, stored } = await seed();
  const pins = await node(store);
  expect(pins.isWithheld(server, "search", "1")).toBe(true);
  await pins.observe(gateway, server, listed([tool("1")]));
  expect(pins.isWithheld(server, "search", "1")).toBe(false);
  expect(pins.isWithheld(server, "search", "2")).toBe(true);
  await stored("1");
  void pins.observe(gateway, server, listed([tool("2")]));
  expect(pins.isWithheld(server, "search", "2")).toBe(true);
  await stored("2");
  expect(printed.join()).toContain("definition of tool changed");
  expect(pins.isWithheld(server, "search", "2")).toBe(true);
  await store.mcpTools.approve(server.id, "search", "2", "2030-01-01T00:00:00.000Z");
  await pins.refresh();
  expect(pins.isWithheld(server, "search", "2")).toBe(false);
  expect(pins.isWithheld(server, "search", "1")).toBe(true);
});

test("a definition that changes before the first one is written is withheld", async () => {
  const { store, gateway, server, stored } = await seed();
  const pins = await node(store);
  await Promise.all([
    pins.observe(gateway, server, listed([tool("1")])),
    pins.observe(gateway, server, listed([tool("2")])),
  ]);
  expect(pins.isWithheld(server, "search", "2")).toBe(true);
  await stored("2");
  await pins.refresh();
  expect(pins.isWithheld(server, "search", "2")).toBe(true);
  expect(pins.isWithheld(server, "search", "1")).toBe(false);
  expect(await store.mcpTools.hashes(server.id)).toMatchObject([{ hash: "2", approvedHash: "1" }]);
});

test("a restarted process and another node know what is approved, before they have seen a tool", async () => {
  const { url, store, gateway, server, stored } = await seed();
  const first = await node(store);
  await first.observe(gateway, server, listed([tool("1")]));
  await stored("1");
  const second = await node(openForTest(url));
  expect(second.isWithheld(server, "search", "2")).toBe(true);
  expect(second.isWithheld(server, "search", "1")).toBe(false);
  expect(second.isWithheld(server, "other", "1")).toBe(true);
  void second.observe(gateway, server, listed([tool("2")]));
  await stored("2");
  await store.mcpTools.approve(server.id, null, null, "2030-01-01T00:00:00.000Z");
  await waitUntil(() => {
    clock.advance(1000);
    return Promise.resolve(!second.isWithheld(server, "search", "2"));
  });
});

test("without the store no tool is offered, and the first list after the outage is pinned", async () => {
  const { store, gateway, server } = await seed();
  let isAvailable = false;
  const versions = () => (isAvailable ? store.mcpTools.versions() : Promise.reject(new Error("unavailable")));
  const pins = await node(withVersions(store, versions));
  await pins.observe(gateway, server, listed([tool("1")]));
  expect(pins.isWithheld(server, "search", "1")).toBe(true);
  isAvailable = true;
  clock.advance(1000);
  await pins.observe(gateway, server, listed([tool("1")]));
  expect(pins.isWithheld(server, "search", "1")).toBe(false);
});

test("a tool that is new on any node is withheld on all nodes, also after a restart, until it is approved", async () => {
  const { url, store, gateway, server, stored } = await seed();
  const first = await node(store);
  // Read before the server is known, and not again before it lists something.
  const second = await node(openForTest(url));
  await first.observe(gateway, server, listed([tool("1")]));
  await second.observe(gateway, server, listed([tool("1"), tool("9", "added")]));
  expect(second.isWithheld(server, "search", "1")).toBe(false);
  expect(second.isWithheld(server, "added", "9")).toBe(true);
  await stored("9");
  expect(printed.join()).toContain("new tool withheld");
  const restarted = await node(openForTest(url));
  expect(restarted.isWithheld(server, "added", "9")).toBe(true);
  expect(restarted.statusOf(server.id, "added")).toBe("new");
  expect(restarted.changedCount(server.id)).toBe(1);
  await store.mcpTools.approve(server.id, "added", "9", "2030-01-01T00:00:00.000Z");
  await waitUntil(() => {
    clock.advance(1000);
    return Promise.resolve(!second.isWithheld(server, "added", "9"));
  });
});

test("what an earlier version has approved stays approved, whatever its _meta is, and only that", async () => {
  const { store, gateway, server } = await seed();
  const old = [tool("v"), tool("w", "changed")];
  await store.mcpTools.record(gateway, server.id, old, "2030-01-01T00:00:00.000Z", "approve");
  const pins = await node(store);
  expect(pins.isWithheld(server, "search", "2.meta.v")).toBe(false);
  expect(pins.isWithheld(server, "changed", "2.meta.x")).toBe(true);
  void pins.observe(gateway, server, listed([tool("2.meta.v")]));
  await waitUntil(async () => {
    clock.advance(1000);
    return (await store.mcpTools.hashes(server.id)).some((each) => each.approvedHash === "2.meta.v");
  });
  await pins.refresh();
  expect(pins.isWithheld(server, "search", "2.meta.v")).toBe(false);
  expect(pins.isWithheld(server, "search", "2.other.v")).toBe(true);
});

test("with pin: warn new tools are approved, and a change of _meta alone is not reported", async () => {
  const { store, gateway, server, stored } = await seed();
  const warned = { ...server, pin: "warn" as const };
  const pins = await node(store);
  printed.length = 0;
  void pins.observe(gateway, warned, listed([tool("2.a.v")]));
  expect(pins.isWithheld(warned, "search", "2.a.v")).toBe(false);
  await stored("2.a.v");
  void pins.observe(gateway, warned, listed([tool("2.b.v"), tool("2.a.n", "added")]));
  await stored("2.a.n");
  await pins.refresh();
  expect(pins.statusOf(server.id, "search")).toBe("approved");
  expect(pins.statusOf(server.id, "added")).toBe("approved");
  expect(printed.join()).not.toContain("changed");
});

test("an outage of the store is logged once", async () => {
  const { store, gateway, server } = await seed();
  printed.length = 0;
  let reads = 0;
  let isAvailable = true;
  const versions = () => {
    reads++;
    return isAvailable ? store.mcpTools.versions() : Promise.reject(new Error("unavailable"));
  };
  const pins = await node(withVersions(store, versions));
  await pins.observe(gateway, server, listed([tool("1")]));
  const untilRead = async (times: number) => {
    const wanted = reads + times;
    await waitUntil(() => {
      clock.advance(1000);
      return reads >= wanted;
    });
  };
  for (const outages of [1, 2]) {
    isAvailable = false;
    await untilRead(4);
    expect(printed.filter((line) => line.includes("tool definitions not exchanged"))).toHaveLength(outages);
    isAvailable = true;
    await untilRead(2);
  }
});

test("a long list is written in several turns of the event loop", async () => {
  const { store, gateway, server, stored } = await seed();
  const turns: number[] = [];
  let turn = 0;
  let isRunning = true;
  const count = () => {
    turn++;
    if (isRunning) setImmediate(count);
  };
  count();
  const { mcpTools } = withVersions(store, () => store.mcpTools.versions());
  const pins = await node({
    mcpTools: {
      ...mcpTools,
      record(...values) {
        turns.push(turn);
        expect(values[2].length).toBeLessThanOrEqual(20);
        return store.mcpTools.record(...values);
      },
    },
  });
  const tools = Array.from({ length: 100 }, (_, at) => tool("1", `tool_${at}`));
  await pins.observe(gateway, server, listed(tools));
  isRunning = false;
  await stored("1");
  expect(turns).toHaveLength(5);
  expect(new Set(turns).size).toBe(5);
  expect((await store.mcpTools.hashes(server.id)).length).toBe(100);
});
