// Two gateways in one process share no state: each has its own upstream connections.
import { afterAll, expect, test } from "bun:test";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouseInProcess, type GatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { postChat } from "../support/plugin-fixtures.ts";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";

interface RoutedGateway {
  readonly gatehouse: GatehouseInProcess;
  /** Sends a chat request through the gateway. */
  post(): Promise<Response>;
}

const provider = await startFakeProvider();
const first = await startWithRoute();
const second = await startWithRoute();
afterAll(async () => {
  await second.gatehouse.stop();
  await provider.stop();
});

async function startWithRoute(): Promise<RoutedGateway> {
  const gatehouse = await startGatehouseInProcess();
  const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
  return { gatehouse, post: () => postChat(gatehouse, route) };
}

test("stopping one gateway closes its connections and leaves those of the other open", async () => {
  for (const gateway of [first, second]) expect((await gateway.post()).status).toBe(200);
  // The same base URL, but a connection per gateway.
  expect([provider.connectionsOpened, provider.openConnections()]).toEqual([2, 2]);

  provider.behave({ delayMs: 300 });
  const inFlight = second.post();
  await provider.until(() => provider.requestCount === 3);
  await first.gatehouse.stop();
  await provider.until(() => provider.openConnections() === 1);

  expect((await inFlight).status).toBe(200);
  expect((await second.post()).status).toBe(200);
  expect(provider.connectionsOpened).toBe(2);
});
