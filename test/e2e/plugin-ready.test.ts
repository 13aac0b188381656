// Plugins that take a while to become ready: their hooks are not called before, a gateway waits for them when it starts,
// and a plugin that fails to become ready does not prevent the start.
import { afterAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { useGate } from "../support/gate.ts";
import {
  startGatehouseProcess,
  temporaryDirectory,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { logged, logRecords, pluginsDirectory, postChat, seedPlugins } from "../support/plugin-fixtures.ts";
import { useFakeProvider } from "../support/use-gatehouse.ts";

const START_MS = 60_000;

const gate = useGate();

const PLUGINS = {
  "slow.ts": `
    import { definePlugin, z } from "gatehouse/sdk";
    export default definePlugin({
      name: "slow",
      description: "Becomes ready when the gate opens.",
      stages: ["pre_request"],
      settings: z.object({}),
      create(settings, host) {
        let isReady = false;
        const ready = fetch("${gate.url}").then(() => {
          isReady = true;
          host.log("info", "slow is ready");
        });
        return { ready, pre_request: (context) => context.setResponseHeader("X-Ready", String(isReady)) };
      },
    });`,
  "broken.ts": `
    import { definePlugin, z } from "gatehouse/sdk";
    export default definePlugin({
      name: "broken",
      description: "Cannot become ready.",
      stages: ["pre_request"],
      settings: z.object({}),
      create: () => ({ ready: Promise.reject(new Error("model not found")), pre_request: () => undefined }),
    });`,
};

const start = (): Promise<GatehouseProcess> =>
  startGatehouseProcess({ env: { PLUGINS_DIR: plugins }, dataDir, keepData: true });

const provider = await useFakeProvider();
const plugins = pluginsDirectory(PLUGINS);
const dataDir = temporaryDirectory();
afterAll(() => {
  for (const directory of [plugins, dataDir]) rmSync(directory, { recursive: true, force: true });
});

test(
  "requests and the start of a gateway wait for them; a plugin that fails to become ready fails only its own requests",
  async () => {
    const first = await start();
    try {
      const slow = await seedPlugins(first, provider, [{ name: "slow", stage: "pre_request" }]);
      const broken = await seedPlugins(first, provider, [{ name: "broken", stage: "pre_request" }]);
      const waiting = postChat(first, slow);
      await gate.untilArrived(1);
      gate.open();
      const response = await waiting;
      expect([response.status, response.headers.get("x-ready")]).toEqual([200, "true"]);
      const rejected = await postChat(first, broken);
      expect([rejected.status, await rejected.text()]).toEqual([
        500,
        expect.stringContaining("plugin_failed"),
      ]);
      const line = await logged(first, "plugin not ready; requests that use it wait or fail");
      expect(line).toMatchObject({ level: "warn", plugin: "broken" });
      expect(JSON.stringify(line)).toContain("model not found");
    } finally {
      await first.stop();
    }
    gate.close();
    const starting = start();
    await gate.untilArrived(1);
    gate.open();
    const second = await starting;
    try {
      const messages = logRecords(second).map(({ msg }) => msg as string);
      expect(messages.indexOf("slow is ready")).toBeGreaterThan(-1);
      expect(messages.indexOf("slow is ready")).toBeLessThan(messages.indexOf("proxy listening"));
    } finally {
      await second.stop();
    }
  },
  START_MS,
);
