// A gateway in a container with little memory: more large bodies than fit are rejected, and the kernel never kills the process.
import { afterAll, expect, test } from "bun:test";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import { LAUNCHER, startGatehouseProcess } from "../support/gatehouse-process.ts";
import { limitMemory } from "../support/memory-limit.ts";
import { CHAT, rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";

const MIB = 1024 * 1024;
const limit = limitMemory(process.env["GATEHOUSE_TEST_PROGRAM"] ?? LAUNCHER, 256 * MIB);
afterAll(() => limit?.remove());

test.skipIf(limit === null)(
  "of 30 bodies of 9 MB at 256 MiB some are served, and the others get 503",
  async () => {
    const provider = await startFakeProvider({});
    // Bodies stay in memory until the response begins.
    const gatehouse = await startGatehouseProcess({ program: limit?.program ?? "" });
    try {
      expect(gatehouse.output()).toContain("memory below 384 MiB");
      const { path } = await seedRoute(gatehouse, {
        upstream: { targets: [targetAt(provider, { provider: "anthropic" })] },
      });
      for (let round = 0; round < 10; round++)
        await Promise.all(Array.from({ length: 50 }, () => rawJson(gatehouse.proxyUrl, path, CHAT)));
      const body = { ...CHAT, messages: [{ role: "user", content: "large ".repeat(1_500_000) }] };
      const uploads = await Promise.all(
        Array.from({ length: 30 }, () =>
          rawJson(gatehouse.proxyUrl, path, body).then(({ status }) => status),
        ),
      );
      expect(uploads.filter((status) => status === 200).length).toBeGreaterThan(0);
      expect(uploads.filter((status) => status !== 200 && status !== 503)).toEqual([]);
      expect((await rawJson(gatehouse.proxyUrl, path, CHAT)).status).toBe(200);
    } finally {
      gatehouse.signal("SIGKILL");
      await gatehouse.exited;
      await gatehouse.stop();
      await provider.stop();
    }
  },
);
