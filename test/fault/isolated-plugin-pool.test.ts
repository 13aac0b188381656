// Isolated plugins whose requests loop or exit beside other requests of the same plugin and gateway: only their own requests fail.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import {
  asynchronous,
  logRecords,
  pluginsDirectory,
  postChat,
  SCRIPTED_PLUGINS,
  scripted,
  seedPlugins,
  type Fields,
} from "../support/plugin-fixtures.ts";
import type { SeededRoute } from "../support/proxy-fixtures.ts";
import { waitFor } from "../support/waiting.ts";

const TEST_MS = 120_000;
/** Does what the request asks for. */
const MISBEHAVE = `
  const what = context.headers.get("x-do");
  if (what === "loop") { host.log("warn", "loop begins"); while (true) {} }
  if (what === "exit") process.exit(0);
  if (what === "exit later") { await new Promise((resolve) => setTimeout(resolve, 300)); process.exit(0); }
  if (what === "wait") { host.log("warn", "wait begins"); await new Promise((resolve) => setTimeout(resolve, 1500)); }
  if (what === "count") { await host.counters.admit([]); host.log("warn", "count begins"); await new Promise((resolve) => setTimeout(resolve, 1500)); }
  context.setResponseHeader("X-Ran", "1");`;

let provider: FakeProvider;
let gatehouse: GatehouseProcess;
const directory = pluginsDirectory(SCRIPTED_PLUGINS);

beforeAll(async () => {
  provider = await startFakeProvider();
  gatehouse = await startGatehouseProcess({ env: { PLUGINS_DIR: directory } });
}, TEST_MS);
afterAll(async () => {
  await gatehouse.stop();
  await provider.stop();
  rmSync(directory, { recursive: true, force: true });
});

const seed = (isolation: string, fields: Fields = {}) =>
  seedPlugins(gatehouse, provider, [
    scripted("pre_request", asynchronous(MISBEHAVE), { isolation, ...fields }),
  ]);

const ask = (route: SeededRoute, what: string, tag = "") =>
  postChat(gatehouse, route, { headers: { "x-do": what, "x-tag": tag } });

const outcomeOf = async (response: Response) => {
  const body = (await response.json()) as { readonly code?: string };
  return [response.status, body.code ?? response.headers.get("x-ran")];
};
const SERVED = [200, "1"];
const crashesOf = (route: SeededRoute) =>
  logRecords(gatehouse).filter(
    ({ msg, gateway_id }) => msg === "isolated plugin crashed" && gateway_id === route.gateway,
  );
const logged = (message: string) =>
  logRecords(gatehouse).filter(({ msg }) => String(msg).includes(message)).length;

/** Starts requests, and resolves when their hooks have begun. */
async function begun(message: string, start: () => Promise<Response>[]): Promise<Promise<Response>[]> {
  const before = logged(message);
  const started = start();
  await waitFor(() => (logged(message) >= before + started.length ? true : null));
  return started;
}

describe.each(["worker", "process"])("isolation %s", (isolation) => {
  test(
    "requests beside one that loops are served, and those that come meanwhile",
    async () => {
      const route = await seed(isolation);
      expect(await outcomeOf(await ask(route, "nothing"))).toEqual(SERVED);
      const waiting = await begun("wait begins", () => [ask(route, "wait"), ask(route, "wait", "2")]);
      const [looping] = await begun("loop begins", () => [ask(route, "loop")]);
      const others = Array.from({ length: 10 }, () => ask(route, "nothing"));
      for (const other of [...others, ...waiting]) expect(await outcomeOf(await other)).toEqual(SERVED);
      expect(await outcomeOf((await looping) ?? new Response())).toEqual([500, "plugin_failed"]);
    },
    TEST_MS,
  );

  test(
    "requests beside one that exits are served, and its bytes are quarantined although on_error is continue",
    async () => {
      const route = await seed(isolation, { on_error: "continue" });
      const waiting = await begun("wait begins", () => [ask(route, "wait"), ask(route, "wait", "2")]);
      const exiting = ask(route, "exit");
      const others = Array.from({ length: 10 }, () => ask(route, "nothing"));
      for (const other of [...others, ...waiting]) expect(await outcomeOf(await other)).toEqual(SERVED);
      expect(await outcomeOf(await exiting)).toEqual([503, "plugin_quarantined"]);
      const crashes = crashesOf(route).length;
      const again = await ask(route, "exit");
      expect(Number(again.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(await outcomeOf(again)).toEqual([503, "plugin_quarantined"]);
      expect(crashesOf(route)).toHaveLength(crashes);
      expect(await outcomeOf(await ask(route, "exit later", "other bytes"))).toEqual([
        503,
        "plugin_quarantined",
      ]);
      expect(await outcomeOf(await ask(route, "nothing"))).toEqual(SERVED);
    },
    TEST_MS,
  );

  test(
    "a hook that has counted is not repeated, and its request fails",
    async () => {
      const route = await seed(isolation);
      const counting = await begun("count begins", () => [ask(route, "count")]);
      expect(await outcomeOf(await ask(route, "exit"))).toEqual([503, "plugin_quarantined"]);
      const before = logged("count begins");
      expect(await outcomeOf((await counting[0]) ?? new Response())).toEqual([500, "plugin_failed"]);
      expect(logged("count begins")).toBe(before);
    },
    TEST_MS,
  );
});
