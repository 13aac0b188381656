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

async function seed() {
  const url = temporarySqliteUrl();
  const store = openForTest(url);
  const gateway = await insert(store, "gateways", gatewayRecord());
  const server = await insert(store, "mcp_servers", mcpServerRecord(gateway.id));
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
  pins.observe(gateway, server, [tool("1")]);
  expect(pins.isWithheld(gateway, server, "search", "1")).toBe(false);
  expect(pins.isWithheld(gateway, server, "search", "2")).toBe(true);
  await stored("1");
  pins.observe(gateway, server, [tool("2")]);
  expect(pins.isWithheld(gateway, server, "search", "2")).toBe(true);
  await stored("2");
  expect(printed.join()).toContain("definition of tool changed");
  expect(pins.isWithheld(gateway, server, "search", "2")).toBe(true);
  await store.mcpTools.approve(server.id, "search", "2", "2030-01-01T00:00:00.000Z");
  await pins.refresh();
  expect(pins.isWithheld(gateway, server, "search", "2")).toBe(false);
  expect(pins.isWithheld(gateway, server, "search", "1")).toBe(true);
});

test("a definition that changes before the first one is written is withheld", async () => {
  const { store, gateway, server, stored } = await seed();
  const pins = await node(store);
  pins.observe(gateway, server, [tool("1")]);
  pins.observe(gateway, server, [tool("2")]);
  expect(pins.isWithheld(gateway, server, "search", "2")).toBe(true);
  await stored("2");
  await pins.refresh();
  expect(pins.isWithheld(gateway, server, "search", "2")).toBe(true);
  expect(pins.isWithheld(gateway, server, "search", "1")).toBe(false);
  expect(await store.mcpTools.hashes(server.id)).toMatchObject([{ hash: "2", approvedHash: "1" }]);
});

test("a restarted process and another node know what is approved, before they have seen a tool", async () => {
  const { url, store, gateway, server, stored } = await seed();
  const first = await node(store);
  first.observe(gateway, server, [tool("1")]);
  await stored("1");
  const second = await node(openForTest(url));
  expect(second.isWithheld(gateway, server, "search", "2")).toBe(true);
  expect(second.isWithheld(gateway, server, "search", "1")).toBe(false);
  expect(second.isWithheld(gateway, server, "other", "1")).toBe(false);
  second.observe(gateway, server, [tool("2")]);
  await stored("2");
  await store.mcpTools.approve(server.id, null, null, "2030-01-01T00:00:00.000Z");
  await waitUntil(() => {
    clock.advance(1000);
    return Promise.resolve(!second.isWithheld(gateway, server, "search", "2"));
  });
});

test("until the approved definitions are known, none is offered", async () => {
  const { store, gateway, server } = await seed();
  let isAvailable = false;
  const versions = () => (isAvailable ? store.mcpTools.versions() : Promise.reject(new Error("unavailable")));
  const mcpTools = {
    versions,
    hashes: (id: string) => store.mcpTools.hashes(id),
    record: (...values: Parameters<typeof store.mcpTools.record>) => store.mcpTools.record(...values),
  };
  const pins = await node({ mcpTools: { ...store.mcpTools, ...mcpTools } });
  expect(pins.isWithheld(gateway, server, "search", "1")).toBe(true);
  isAvailable = true;
  await pins.load();
  expect(pins.isWithheld(gateway, server, "search", "1")).toBe(false);
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
  const mcpTools = {
    versions,
    hashes: (id: string) => store.mcpTools.hashes(id),
    record: (...values: Parameters<typeof store.mcpTools.record>) => store.mcpTools.record(...values),
  };
  const pins = await node({ mcpTools: { ...store.mcpTools, ...mcpTools } });
  pins.observe(gateway, server, [tool("1")]);
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
