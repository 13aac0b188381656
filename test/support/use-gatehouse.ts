// The usual setup of a test file: a gateway and fake providers that are stopped after its tests. Call these functions at the top
// level of the file.
import { afterAll, beforeEach } from "bun:test";
import {
  startFakeProvider,
  type FakeProvider,
  type FakeProviderOptions,
} from "../../src/fake-provider/server.ts";
import {
  startGatehouseInProcess,
  startGatehouseOnSystemClock,
  type GatehouseInProcess,
  type InProcessOptions,
} from "./gatehouse-in-process.ts";
import {
  startGatehouseProcess,
  type GatehouseProcess,
  type RunningGatehouse,
  type StartOptions,
} from "./gatehouse-process.ts";

/** Starts a gateway in the process of the test, which takes a fifth of the CPU time of a process of its own. */
export async function useGatehouse(options: InProcessOptions = {}): Promise<RunningGatehouse> {
  const gatehouse = await startGatehouseOnSystemClock(options);
  afterAll(() => gatehouse.stop());
  return gatehouse;
}

/** Like `useGatehouse`, on a clock that only the test advances: on a busy machine, no timeout of the gateway ends its work. */
export async function useGatehouseOnManualClock(options: InProcessOptions = {}): Promise<GatehouseInProcess> {
  const gatehouse = await startGatehouseInProcess(options);
  afterAll(() => gatehouse.stop());
  return gatehouse;
}

export async function useGatehouseProcess(options: StartOptions = {}): Promise<GatehouseProcess> {
  const gatehouse = await startGatehouseProcess(options);
  afterAll(() => gatehouse.stop());
  return gatehouse;
}

/** Starts a provider, which is reset before each test. */
export async function useFakeProvider(options: FakeProviderOptions = {}): Promise<FakeProvider> {
  const provider = await startFakeProvider(options);
  beforeEach(() => provider.reset());
  afterAll(() => provider.stop());
  return provider;
}
