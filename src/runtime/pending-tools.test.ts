// Tools that wait to be written, with a store that takes everything.
import { expect, test } from "bun:test";
import { waitUntil } from "../../test/support/waiting.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import type { SeenDefinition } from "../store/mcp-tool-rows.ts";
import { createLog } from "../telemetry/log/log.ts";
import { StoredToolPins } from "./stored-tool-pins.ts";

const log = createLog({ level: "error", format: "json" }, { write: () => undefined });
const clock = new ManualClock();

const tool = (hash: string, name: string) => ({ name, hash, definition: { name, description: hash } });
const listOf = (tools: readonly ReturnType<typeof tool>[], memory = 0) => ({ tools, memory });

/** Returns pins, and what their store was given. `known` is in the store already. */
async function recorded(known: ReturnType<typeof tool>[], onRecord: () => void = () => undefined) {
  const given: SeenDefinition[] = [];
  const versions = new Map(known.length === 0 ? [] : [[server.id, { gatewayId: "g", version: 1 }]]);
  const unused = () => Promise.reject(new Error("not used"));
  const mcpTools = {
    versions: () => Promise.resolve(versions),
    hashes: () => Promise.resolve(known.map(({ name, hash }) => ({ name, hash, approvedHash: hash }))),
    record(_gateway: string, _server: string, seen: readonly SeenDefinition[]) {
      given.push(...seen);
      onRecord();
      return Promise.resolve({ changed: [], held: [], isFirst: false });
    },
    list: unused,
    approve: unused,
  };
  const pins = new StoredToolPins({ mcpTools }, log, clock);
  await pins.load();
  return { pins, given };
}

const server = { id: "s", name: "s", pin: "warn" as const };
const named = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, at) => tool("1", `${prefix}${at}`));

test("of lists with other names each time, no more waits than the store keeps, and texts of few lists", async () => {
  const { pins, given } = await recorded([]);
  for (const prefix of ["a", "b", "c"])
    void pins.observe("g", server, listOf(named(prefix, 2000), 20_000_000));
  void pins.observe("g", server, listOf([tool("2", "a0")], 1000));
  clock.advance(1000);
  await waitUntil(() => Promise.resolve(given.some(({ hash }) => hash === "2")));
  await pins.close();
  expect(new Set(given.map(({ name }) => name)).size).toBe(5000);
  for (const { name, definition } of given)
    expect([name, definition !== ""]).toEqual([name, name.startsWith("a")]);
});

test("a server with as many tools as the store keeps has changes recorded, and no new names", async () => {
  const { pins, given } = await recorded(named("a", 5000));
  void pins.observe("g", server, listOf([...named("b", 10), tool("2", "a1"), tool("2", "x".repeat(257))]));
  expect(pins.statusOf("s", "b1")).toBeNull();
  clock.advance(1000);
  await waitUntil(() => Promise.resolve(given.length > 0));
  await pins.close();
  expect(given).toMatchObject([{ name: "a1", hash: "2" }]);
});

test("a definition that was written is not written again while others wait", async () => {
  let count = 0;
  const { pins, given } = await recorded([], () => {
    if (++count < 3) void pins.observe("g", server, listOf(named(`later${count}_`, 1)));
  });
  void pins.observe("g", server, listOf([tool("1", "a")]));
  await waitUntil(() => {
    clock.advance(1000);
    return Promise.resolve(given.some(({ name }) => name === "later2_0"));
  });
  await pins.close();
  expect(given.map(({ name }) => name)).toEqual(["a", "later1_0", "later2_0"]);
});
