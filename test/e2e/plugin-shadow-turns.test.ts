// When plugins in shadow mode run, in a gateway whose clock the test advances: after the response, together with the calls of other
// requests, and at the end of the process if they still wait then.
import { afterAll, expect, test } from "bun:test";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import {
  pluginsDirectory,
  postChat,
  scripted,
  SCRIPTED_PLUGINS,
  seedPlugins,
} from "../support/plugin-fixtures.ts";
import { eventLoopTurns, waitUntil } from "../support/waiting.ts";

const provider = await startFakeProvider({ name: "main" });
afterAll(() => provider.stop());

/** Starts a gateway with a plugin in shadow mode that counts its calls in this process. */
async function start() {
  const gatehouse = await startGatehouseInProcess({
    env: { PLUGINS_DIR: pluginsDirectory(SCRIPTED_PLUGINS) },
  });
  const event = `shadow-${crypto.randomUUID()}`;
  let calls = 0;
  const count = () => {
    calls++;
  };
  process.on(event, count);
  const code = `process.emit("${event}")`;
  const route = await seedPlugins(gatehouse, provider, [scripted("pre_request", code, { mode: "shadow" })]);
  const send = async () => {
    const response = await postChat(gatehouse, route);
    expect(response.status).toBe(200);
    await response.arrayBuffer();
  };
  const stop = async () => {
    await gatehouse.stop();
    process.off(event, count);
  };
  return { gatehouse, send, stop, calls: () => calls };
}

test("a response does not wait for the calls, which run together 10 ms after the first one", async () => {
  const { gatehouse, send, stop, calls } = await start();
  for (let request = 0; request < 3; request++) await send();
  gatehouse.clock.advance(9);
  await eventLoopTurns();
  expect(calls()).toBe(0);
  gatehouse.clock.advance(1);
  await waitUntil(() => calls() === 3);
  await stop();
});

test("a gateway that stops runs the calls that wait", async () => {
  const { send, stop, calls } = await start();
  for (let request = 0; request < 3; request++) await send();
  expect(calls()).toBe(0);
  await stop();
  expect(calls()).toBe(3);
});
