// Waiting for plugins to become ready: it always ends, and no error escapes.
import { expect, test } from "bun:test";
import { eventLoopTurns } from "../../test/support/waiting.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { MemoryCounters } from "../counters/memory-counters.ts";
import { definePlugin, z, type PluginHooks } from "../sdk/index.ts";
import { createLog } from "../telemetry/log/log.ts";
import { OffLoop } from "../off-loop/off-loop.ts";
import { PluginHosts } from "./plugin-hosts.ts";

function setup(hooks: () => PluginHooks) {
  let text = "";
  const clock = new ManualClock();
  const log = createLog({ level: "info", format: "json" }, { write: (line) => void (text += line) });
  const blocks = { has: () => false, add: () => true, canAdd: () => true };
  const hosts = new PluginHosts(new MemoryCounters(), blocks, log, new OffLoop(), clock);
  const plugin = definePlugin<unknown>({
    name: "p",
    description: "",
    stages: ["pre_request"],
    settings: z.unknown(),
    create: hooks,
  });
  return { hosts, plugin, logged: () => text, clock };
}

test("waits for a plugin that never becomes ready until the deadline", async () => {
  const { hosts, plugin, logged, clock } = setup(() => ({ ready: new Promise(() => undefined) }));
  hosts.getInstance("g/1", plugin, {});
  const ready = hosts.ready();
  clock.advance(4999);
  await eventLoopTurns();
  expect(logged()).toBe("");
  clock.advance(1);
  await ready;
  expect(logged()).toContain("not ready within 5000 ms");
});

test("a plugin without `ready` is ready immediately", async () => {
  const { hosts, plugin, logged } = setup(() => ({}));
  hosts.getInstance("g/1", plugin, {});
  await hosts.ready();
  expect(logged()).toBe("");
});

test("logs a plugin that fails to become ready once, even if nothing waits for it, and ignores explanations", async () => {
  const { hosts, plugin, logged } = setup(() => ({ ready: Promise.reject(new Error("no model")) }));
  const escaped: unknown[] = [];
  const note = (error: unknown) => void escaped.push(error);
  process.on("unhandledRejection", note);
  try {
    hosts.getInstance("g/1", plugin, {});
    hosts.createForExplanation("g/1", plugin, {}, () => undefined);
    await eventLoopTurns();
  } finally {
    process.off("unhandledRejection", note);
  }
  expect(logged().match(/plugin not ready/g)?.length).toBe(1);
  expect(escaped).toEqual([]);
});
