// Waiting for plugins to become ready: it always ends, and no error escapes.
import { describe, expect, test } from "bun:test";
import { eventLoopTurns } from "../../test/support/waiting.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { MemoryLedger } from "../ledger/memory-ledger.ts";
import { definePlugin, z, type PluginHooks, type TextMemory } from "../sdk/index.ts";
import { createLog } from "../telemetry/log/log.ts";
import { OffLoop } from "../off-loop/off-loop.ts";
import { PluginHosts } from "./plugin-hosts.ts";

function setup(hooks: () => PluginHooks) {
  let text = "";
  const clock = new ManualClock();
  const log = createLog({ level: "info", format: "json" }, { write: (line) => void (text += line) });
  const blocks = { has: () => false, add: () => true, canAdd: () => true };
  const hosts = new PluginHosts(new MemoryLedger(), blocks, log, new OffLoop(), clock);
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

describe("the memory of texts", () => {
  const bytes = Buffer.from("a text that a plugin has processed");
  const recall = (memory: TextMemory) => memory.recall(bytes, 0, bytes.length);
  const remember = (memory: TextMemory) => {
    const known = recall(memory);
    if (typeof known !== "number") known.remember(1);
  };

  function setupMemories() {
    const opened: TextMemory[] = [];
    const { hosts, plugin } = setup(() => ({}));
    const create: typeof plugin.create = (_, host) => {
      opened.push(host.textMemory("1"), host.textMemory("1"), host.textMemory("2"));
      return {};
    };
    const open = (instanceId: string, settings: unknown, explains = false): TextMemory[] => {
      opened.length = 0;
      const definition = { ...plugin, create };
      if (explains) hosts.createForExplanation(instanceId, definition, settings, () => undefined);
      else hosts.getInstance(instanceId, definition, settings);
      return [...opened];
    };
    return { hosts, open };
  }

  test("is not shared by versions, instances, settings, code, or gateways", () => {
    const { open } = setupMemories();
    const [first, ...others] = open("g/1", { a: 1 });
    if (first === undefined) throw new Error("no memory");
    remember(first);
    expect(recall(first)).toBe(1);
    const all = [
      others,
      open("g/1", { a: 1 }),
      open("g/1", { a: 2 }),
      open("g/2", { a: 1 }),
      open("h/1", { a: 1 }),
    ];
    expect(all.flat()).toHaveLength(14);
    for (const memory of all.flat()) expect(recall(memory)).toBeObject();
    expect(recall(first)).toBe(1);
  });

  test("is empty in an explanation, which remembers nothing", () => {
    const { open } = setupMemories();
    for (const memory of open("g/1", {}, true)) {
      remember(memory);
      expect(recall(memory)).toBeObject();
    }
  });

  test("of a gateway is freed when the gateway is deleted", () => {
    const { hosts, open } = setupMemories();
    const [[memory], [other]] = [open("g/1", {}), open("h/1", {})];
    if (memory === undefined || other === undefined) throw new Error("no memory");
    remember(memory);
    remember(other);
    hosts.releaseGateway("g");
    expect(recall(memory)).toBeObject();
    expect(recall(other)).toBe(1);
  });
});

describe("stopping", () => {
  test("waits for the stop hooks of all plugins until the deadline, and logs those that fail", async () => {
    let stopped = 0;
    const { hosts, plugin, logged, clock } = setup(() => ({}));
    const withStop = (stop: NonNullable<PluginHooks["stop"]>) => ({ ...plugin, create: () => ({ stop }) });
    const written = Promise.withResolvers<undefined>();
    const writes = async () => {
      await written.promise;
      stopped++;
    };
    hosts.getInstance("g/1", withStop(writes), {});
    hosts.getInstance(
      "h/1",
      withStop(() => {
        throw new Error("disk full");
      }),
      {},
    );
    hosts.getInstance(
      "h/2",
      withStop(() => new Promise(() => undefined)),
      {},
    );
    hosts.getInstance("h/3", plugin, {});
    const all = hosts.stop();
    written.resolve(undefined);
    await eventLoopTurns();
    clock.advance(5000);
    await all;
    expect(stopped).toBe(1);
    expect(logged()).toContain("disk full");
    expect(logged()).toContain("did not stop within 5000 ms");
  });

  test("does not stop a plugin that never was ready", async () => {
    let stopped = 0;
    const stop = () => {
      stopped++;
    };
    const { hosts, plugin } = setup(() => ({ ready: new Promise(() => undefined), stop }));
    hosts.getInstance("g/1", plugin, {});
    await hosts.stop();
    expect(stopped).toBe(0);
  });
});
