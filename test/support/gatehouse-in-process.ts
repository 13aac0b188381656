// Runs a gateway in the test's own process, with a clock that the test advances: timeouts, intervals, and windows pass
// without waiting.
import { afterAll, beforeEach } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { systemClock, type Clock } from "../../src/base/clock.ts";
import { ManualClock } from "../../src/base/manual-clock.fixture.ts";
import { readSettings } from "../../src/config/settings.ts";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouse } from "../../src/main.ts";
import { createLog } from "../../src/telemetry/log/log.ts";
import { callApi, TEST_SECRET, tokenFor, type RunningGatehouse } from "./gatehouse-process.ts";
import { migratedDataDirectory } from "./migrated-store.ts";

export interface GatehouseInProcess extends RunningGatehouse {
  readonly clock: ManualClock;
}

export interface InProcessOptions {
  readonly env?: Record<string, string>;
}

export async function startGatehouseInProcess(options: InProcessOptions = {}): Promise<GatehouseInProcess> {
  const clock = new ManualClock();
  return { ...(await startOnClock(clock, options)), clock };
}

/** Starts a gateway with the clock of the system. */
export function startGatehouseOnSystemClock(options: InProcessOptions = {}): Promise<RunningGatehouse> {
  return startOnClock(systemClock, options);
}

async function startOnClock(clock: Clock, options: InProcessOptions): Promise<RunningGatehouse> {
  const dataDir = await migratedDataDirectory();
  const settings = readSettings({
    ADMIN_PORT: "0",
    PROXY_PORT: "0",
    DATA_DIR: dataDir,
    PLUGINS_DIR: join(dataDir, "plugins"),
    SERVER_SECRET_KEY: TEST_SECRET,
    ...options.env,
  });
  let printed = "";
  const log = createLog(
    { level: settings.LOG_LEVEL, format: "json" },
    { write: (line) => void (printed += line) },
  );
  const gatehouse = await startGatehouse(settings, "all", log, null, clock);
  const adminUrl = gatehouse.adminUrl ?? "";
  const token = await tokenFor(options.env?.["SERVER_SECRET_KEY"] ?? TEST_SECRET, dataDir);
  return {
    adminUrl,
    proxyUrl: gatehouse.proxyUrl ?? "",
    dataDir,
    token,
    output: () => printed,
    api: (method, path, body, headers) => callApi(adminUrl, token, method, path, body, headers),
    async stop() {
      await gatehouse.stop(0);
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

type Providers<Names extends readonly string[]> = { readonly [Index in keyof Names]: FakeProvider };

interface GatehouseWithProviders<Names extends readonly string[]> {
  readonly gatehouse: GatehouseInProcess;
  readonly providers: Providers<Names>;
  /** The clock of the gateway and of the delays of the providers. */
  readonly clock: ManualClock;
}

/** Starts a gateway and providers on one clock, for all tests of a file; the providers are reset before each test. */
export async function startWithProviders<const Names extends readonly string[]>(
  ...names: Names
): Promise<GatehouseWithProviders<Names>> {
  const gatehouse = await startGatehouseInProcess();
  const { clock } = gatehouse;
  const started = await Promise.all(names.map((name) => startFakeProvider({ name, clock })));
  beforeEach(() => {
    for (const provider of started) provider.reset();
  });
  afterAll(async () => {
    await gatehouse.stop();
    await Promise.all(started.map((provider) => provider.stop()));
  });
  return { gatehouse, providers: started as Providers<Names>, clock };
}
