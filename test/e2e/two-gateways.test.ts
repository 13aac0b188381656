// Two gateways in one process share no state: each has its own upstream connections.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { readSettings } from "../../src/config/settings.ts";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouse, type Gatehouse } from "../../src/main.ts";
import { NO_LOG } from "../../src/telemetry/log/log.ts";
import { callApi, mintToken, temporaryDirectory, TEST_SECRET } from "../support/gatehouse-process.ts";
import { CHAT, seedRoute, targetAt } from "../support/proxy-fixtures.ts";

interface GatewayInProcess {
  readonly gatehouse: Gatehouse;
  /** Sends a chat request through the gateway. */
  post(): Promise<Response>;
}

const directories: string[] = [];
let provider: FakeProvider;
let first: GatewayInProcess;
let second: GatewayInProcess;

beforeAll(async () => {
  provider = await startFakeProvider();
  first = await startInProcess();
  second = await startInProcess();
});

afterAll(async () => {
  await second.gatehouse.stop(0);
  await provider.stop();
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

async function startInProcess(): Promise<GatewayInProcess> {
  const directory = temporaryDirectory();
  directories.push(directory);
  const settings = readSettings({
    ADMIN_PORT: "0",
    PROXY_PORT: "0",
    DATA_DIR: directory,
    PLUGINS_DIR: directory,
    SERVER_SECRET_KEY: TEST_SECRET,
  });
  const gatehouse = await startGatehouse(settings, "all", NO_LOG);
  const token = mintToken({ SERVER_SECRET_KEY: TEST_SECRET });
  const api = (method: string, path: string, body?: unknown) =>
    callApi(gatehouse.adminUrl ?? "", token, method, path, body);
  const route = await seedRoute({ api }, { upstream: { targets: [targetAt(provider)] } });
  const post = () =>
    fetch(`${gatehouse.proxyUrl ?? ""}${route.path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(CHAT),
    });
  return { gatehouse, post };
}

test("stopping one gateway closes its connections and leaves those of the other open", async () => {
  for (const gateway of [first, second]) expect((await gateway.post()).status).toBe(200);
  // The same base URL, but a connection per gateway.
  expect([provider.connectionsOpened, provider.openConnections()]).toEqual([2, 2]);

  provider.behave({ delayMs: 300 });
  const inFlight = second.post();
  await provider.until(() => provider.requestCount === 3);
  await first.gatehouse.stop(0);
  await provider.until(() => provider.openConnections() === 1);

  expect((await inFlight).status).toBe(200);
  expect((await second.post()).status).toBe(200);
  expect(provider.connectionsOpened).toBe(2);
});
