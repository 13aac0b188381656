// The usual setup of a test file: a gateway process and fake providers that are stopped after its tests. Call these
// functions at the top level of the file.
import { afterAll, beforeEach } from "bun:test";
import {
  startFakeProvider,
  type FakeProvider,
  type FakeProviderOptions,
} from "../../src/fake-provider/server.ts";
import { startGatehouseOnSystemClock, type InProcessOptions } from "./gatehouse-in-process.ts";
import {
  startGatehouseProcess,
  type GatehouseProcess,
  type RunningGatehouse,
  type StartOptions,
} from "./gatehouse-process.ts";

export async function useGatehouse(options: InProcessOptions = {}): Promise<RunningGatehouse> {
  const gatehouse = await startGatehouseOnSystemClock(options);
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
