// A hook that takes too long: it fails after five seconds, and other requests are served meanwhile.
import { afterAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import { useGate } from "../support/gate.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import {
  asynchronous,
  pluginsDirectory,
  postChat,
  SCRIPTED_PLUGINS,
  scripted,
  seedPlugins,
} from "../support/plugin-fixtures.ts";
import { appendToTrail, expectFailed } from "../support/plugin-harness.ts";
import { onlyRequest } from "../support/proxy-fixtures.ts";
import { eventLoopTurns } from "../support/waiting.ts";

const TIMEOUT_MS = 5000;

const directory = pluginsDirectory(SCRIPTED_PLUGINS);
const gatehouse = await startGatehouseInProcess({ env: { PLUGINS_DIR: directory } });
const { clock } = gatehouse;
const provider = await startFakeProvider();
const gate = useGate();
afterAll(async () => {
  await gatehouse.stop();
  await provider.stop();
  rmSync(directory, { recursive: true, force: true });
});

test("a hook that never resolves fails after five seconds, while other requests are served", async () => {
  const hang = asynchronous(`await fetch("${gate.url}"); await new Promise(() => {})`);
  const failing = await seedPlugins(gatehouse, provider, [scripted("pre_request", hang)]);
  const continuing = await seedPlugins(gatehouse, provider, [
    scripted("post_request", hang, { on_error: "continue" }),
  ]);
  const unharmed = await seedPlugins(gatehouse, provider, [scripted("pre_request", appendToTrail("fine"))]);
  let settled = 0;
  const both = [failing, continuing].map((route) => postChat(gatehouse, route).finally(() => settled++));
  await gate.untilArrived(2);
  clock.advance(TIMEOUT_MS - 1);
  expect((await postChat(gatehouse, unharmed)).headers.get("x-trail")).toBe("fine");
  expect(settled).toBe(0);
  clock.advance(1);
  const [failed, continued] = await Promise.all(both);
  await expectFailed(failed!);
  expect(continued!.status).toBe(200);
});

test("a hook may take almost five seconds", async () => {
  provider.reset();
  const code = asynchronous(`await fetch("${gate.url}"); context.setHeader("x-late", "1")`);
  const route = await seedPlugins(gatehouse, provider, [scripted("pre_request", code)]);
  const response = postChat(gatehouse, route);
  await gate.untilArrived(1);
  clock.advance(TIMEOUT_MS - 1);
  await eventLoopTurns();
  gate.open();
  expect((await response).status).toBe(200);
  expect(onlyRequest(provider).header("x-late")).toBe("1");
});
