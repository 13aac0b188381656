// gatehouse plugins: prints what a plugin in shadow mode would have done, and promotes it.
import { expect, setDefaultTimeout, test } from "bun:test";
import { limiter, postChat, seedPlugins } from "../support/plugin-fixtures.ts";
import { runCommand, settingsOf } from "../support/run-command.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

/** Commands are slow on a busy machine. */
setDefaultTimeout(60_000);

const [gatehouse, provider] = await Promise.all([useGatehouseProcess(), useFakeProvider()]);

const run = (...args: readonly string[]) => runCommand(["plugins", ...args], settingsOf(gatehouse));

test("prints the report, promotes the plugin, and rejects other arguments", async () => {
  const route = await seedPlugins(gatehouse, provider, [
    limiter({ global: [1, "1h"] }, {}, { mode: "shadow" }),
  ]);
  for (let sent = 0; sent < 2; sent++)
    await (await postChat(gatehouse, route, { headers: { "x-request-id": `request-${sent}` } })).text();
  const path = `/gateways/${route.gateway}/plugins/rate_limiter/shadow`;
  await waitUntil(async () => (await gatehouse.api("GET", path)).body.counts.ran === 2);
  const shown = await run("shadow", "rate_limiter");
  const json = await run("shadow", "0", "--json");
  const usage = await run("rate_limiter");
  const unknown = await run("shadow", "other");
  expect(shown).toMatchObject({ code: 0, stderr: "" });
  expect(shown.stdout).toContain("rate_limiter at pre_request, mode shadow");
  expect(shown.stdout).toContain("ran 2, passed 1, responded 1");
  expect(shown.stdout).toContain("would respond: 429: 1");
  expect(shown.stdout).toMatch(/request-1 responded would respond with status 429/);
  expect(JSON.parse(json.stdout)).toMatchObject({ name: "rate_limiter", counts: { ran: 2 } });
  expect(usage.code).not.toBe(0);
  expect(unknown.stderr).toContain('no plugin "other"');
  expect(await run("promote", "rate_limiter")).toMatchObject({ code: 0, stderr: "" });
  const statuses = [await postChat(gatehouse, route), await postChat(gatehouse, route)];
  expect(statuses.map(({ status }) => status)).toEqual([200, 429]);
});
