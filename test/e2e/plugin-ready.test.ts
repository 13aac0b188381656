// Plugins that take a while to be ready: a gateway that starts waits for them, one that runs does not, and one whose
// plugin never becomes ready starts all the same.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { startFakeProvider, type FakeProvider } from "../fake-provider/server.ts";
import {
  startGatehouseProcess,
  temporaryDirectory,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { logged, pluginsDirectory, postChat, seedPlugins } from "../support/plugin-fixtures.ts";
import type { SeededRoute } from "../support/proxy-fixtures.ts";

const START_MS = 30_000;

const PLUGINS = {
  // Tells with every answer whether it was ready when it was called.
  "slow.ts": `
    import { definePlugin, z } from "gatehouse/sdk";
    export default definePlugin({
      name: "slow",
      description: "Takes a second to be ready.",
      stages: ["pre_request"],
      settings: z.object({}),
      create() {
        let isReady = false;
        return {
          ready: Bun.sleep(1000).then(() => { isReady = true; }),
          pre_request: (context) => context.setAnswerHeader("X-Ready", String(isReady)),
        };
      },
    });`,
  "broken.ts": `
    import { definePlugin, z } from "gatehouse/sdk";
    export default definePlugin({
      name: "broken",
      description: "Never becomes ready.",
      stages: ["pre_request"],
      settings: z.object({}),
      create: () => ({
        ready: Promise.reject(new Error("no model at hand")),
        pre_request: (context) => context.setAnswerHeader("X-Ready", "never"),
      }),
    });`,
};

let provider: FakeProvider;
let plugins: string;
let dataDir: string;

const start = (): Promise<GatehouseProcess> =>
  startGatehouseProcess({ env: { PLUGINS_DIR: plugins }, dataDir, keepData: true });

async function readyOn(gatehouse: GatehouseProcess, route: SeededRoute): Promise<string | null> {
  const response = await postChat(gatehouse, route);
  await response.text();
  expect(response.status).toBe(200);
  return response.headers.get("x-ready");
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
  "the first request after a start finds them ready; those after a write need not",
  async () => {
    const first = await start();
    const slow = await seedPlugins(first, provider, [{ name: "slow", stage: "pre_request" }]);
    const broken = await seedPlugins(first, provider, [{ name: "broken", stage: "pre_request" }]);
    try {
      expect(await readyOn(first, slow)).toBe("false");
      expect(await readyOn(first, broken)).toBe("never");
      const line = await logged(first, "a plugin is not ready; its first requests may wait or fail");
      expect(line).toMatchObject({ level: "warn", plugin: "broken" });
      expect(JSON.stringify(line)).toContain("no model at hand");
    } finally {
      await first.stop();
    }
    const second = await start();
    try {
      expect(await readyOn(second, slow)).toBe("true");
      expect(await readyOn(second, broken)).toBe("never");
    } finally {
      await second.stop();
    }
  },
  START_MS,
);
