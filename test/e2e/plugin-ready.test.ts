// Plugins that take a while to be ready: their hooks are not called before, a gateway that starts waits for them, and one
// whose plugin cannot become ready starts all the same.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import {
  startGatehouseProcess,
  temporaryDirectory,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { logged, logRecords, pluginsDirectory, postChat, seedPlugins } from "../support/plugin-fixtures.ts";
import type { SeededRoute } from "../support/proxy-fixtures.ts";

const START_MS = 30_000;

const PLUGINS = {
  "slow.ts": `
    import { definePlugin, z } from "gatehouse/sdk";
    export default definePlugin({
      name: "slow",
      description: "Takes a second to be ready.",
      stages: ["pre_request"],
      settings: z.object({}),
      create(settings, host) {
        let isReady = false;
        const ready = Bun.sleep(1000).then(() => {
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
      create: () => ({ ready: Promise.reject(new Error("no model at hand")), pre_request: () => undefined }),
    });`,
};

let provider: FakeProvider;
let plugins: string;
let dataDir: string;

const start = (): Promise<GatehouseProcess> =>
  startGatehouseProcess({ env: { PLUGINS_DIR: plugins }, dataDir, keepData: true });

async function expectReady(gatehouse: GatehouseProcess, route: SeededRoute): Promise<void> {
  const response = await postChat(gatehouse, route);
  await response.text();
  expect([response.status, response.headers.get("x-ready")]).toEqual([200, "true"]);
}

beforeAll(async () => {
  provider = await startFakeProvider();
  plugins = pluginsDirectory(PLUGINS);
  dataDir = temporaryDirectory();
});
afterAll(async () => {
  await provider.stop();
  for (const directory of [plugins, dataDir]) rmSync(directory, { recursive: true, force: true });
});

test(
  "calls wait until they are ready, a start too, and a plugin that fails at it fails its own requests only",
  async () => {
    const first = await start();
    try {
      const slow = await seedPlugins(first, provider, [{ name: "slow", stage: "pre_request" }]);
      const broken = await seedPlugins(first, provider, [{ name: "broken", stage: "pre_request" }]);
      await expectReady(first, slow);
      const refused = await postChat(first, broken);
      expect([refused.status, await refused.text()]).toEqual([500, expect.stringContaining("plugin_failed")]);
      const line = await logged(first, "plugin not ready; requests that use it wait or fail");
      expect(line).toMatchObject({ level: "warn", plugin: "broken" });
      expect(JSON.stringify(line)).toContain("no model at hand");
    } finally {
      await first.stop();
    }
    const second = await start();
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
