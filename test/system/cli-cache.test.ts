// gatehouse cache with a node of two worker processes: shows and purges the kept responses of both.
import { expect, setDefaultTimeout, test } from "bun:test";
import { CHAT, rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { expectOneLine, runCommand, settingsOf } from "../support/run-command.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

/** Commands are slow on a busy machine. */
setDefaultTimeout(60_000);

const [gatehouse, provider] = await Promise.all([
  useGatehouseProcess({ env: { WORKERS: "2" } }),
  useFakeProvider(),
]);
const run = (...args: readonly string[]) => runCommand(args, settingsOf(gatehouse));
const plugin = { name: "response_cache", stage: "pre_request", settings: { isolation: "gateway" } };
const route = await seedRoute(gatehouse, {
  gateway: { name: "kept", required_plugins: [plugin] },
  upstream: { targets: [targetAt(provider)] },
});

const showJson = async () => {
  const { code, stdout, stderr } = await run("cache", "show", "--gateway", "kept", "--json");
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
};

test("show adds up the workers, and purge removes what both keep", async () => {
  // Each request is a new connection, which either worker may accept. The other one learns of a route shortly after its creation.
  const send = () => rawJson(gatehouse.proxyUrl, route.path, CHAT);
  let sent = 0;
  await waitUntil(async () => {
    if ((await send()).status === 200) sent++;
    return provider.requests.length === 2;
  });
  const state = await showJson();
  const [hits, unpriced] = [sent - 2, { saved_cost: sent === 2 ? 0 : null, unpriced_requests: sent - 2 }];
  expect(state).toMatchObject({ store: "memory", entries: 2, kept: 2, misses: 2, hits, ...unpriced });
  const shown = await run("cache", "show", "--gateway", "kept");
  expect(shown.stdout).toMatch(/^responses +2$/m);
  expect(shown.stdout).toMatch(/^misses +2$/m);
  const purged = await run("cache", "purge", "--gateway", "kept");
  expect([purged.code, purged.stdout]).toEqual([0, "purged the cache of gateway kept\n"]);
  expect(await showJson()).toMatchObject({ entries: 0, bytes: 0, kept: 2 });
  expect((await send()).header("cache-status")).toContain("miss");
});

test.each([
  [["cache"], "cache needs an action; give one of show, purge"],
  [["cache", "clear"], 'there is no "cache clear"; give one of show, purge'],
])("%j is a usage error", async (args, message) => {
  expectOneLine(await run(...args), 2, message);
});
