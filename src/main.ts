// The composition root: settings → storage → configuration → telemetry → data plane → listeners, and shutdown in reverse.
import type { Server } from "bun";
import packageJson from "../package.json" with { type: "json" };
import type { AdminApi } from "./admin/api.ts";
import { listenAdmin } from "./admin/server.ts";
import { systemClock, type Clock } from "./base/clock.ts";
import { resolveServerSecret } from "./config/server-secret.ts";
import { listen, type PortSetting } from "./config/listen.ts";
import { portsFor, type Role } from "./config/ports.ts";
import type { Settings } from "./config/settings.ts";
import { signInSettings } from "./config/sign-in-settings.ts";
import { CoarseDeadlines } from "./http/coarse-deadlines.ts";
import { OffLoop } from "./off-loop/off-loop.ts";
import { createDataPlane, type DataPlaneParts } from "./proxy/handle.ts";
import { createClientAddress } from "./proxy/client-address.ts";
import { InFlightLimits } from "./proxy/in-flight-limits.ts";
import { ShadowTurns } from "./proxy/shadow/shadow-turns.ts";
import { DrainedCalls } from "./proxy/drained-calls.ts";
import { OpenMirrors } from "./proxy/mirroring/open-mirrors.ts";
import { OpenSockets } from "./proxy/realtime/open-sockets.ts";
import { listenProxy } from "./proxy/server.ts";
import { CanaryWatch } from "./runtime/canary-watch.ts";
import type { BudgetBook } from "./runtime/budget-book.ts";
import { createBodyBudget } from "./runtime/create-body-budget.ts";
import { openBudgets } from "./runtime/open-budgets.ts";
import { loadConfiguration, type Configuration } from "./runtime/load-configuration.ts";
import { openCredentials } from "./runtime/open-credentials.ts";
import { openStorage, type Storage } from "./runtime/open-storage.ts";
import { startTelemetry, type Telemetry } from "./runtime/start-telemetry.ts";
import { shareResponses } from "./runtime/responses/share-responses.ts";
import { shareTargetHealth } from "./runtime/target-health.ts";
import { UpstreamPool } from "./upstream/upstream-pool.ts";
import { Health } from "./telemetry/health.ts";
import type { Log } from "./telemetry/log/log.ts";
import { collectOffLoop } from "./telemetry/metrics/metrics.ts";
import { shareTraffic } from "./telemetry/shared-sources.ts";
import { shareLog } from "./telemetry/log/shared-log.ts";
import { ALONE, type Siblings } from "./telemetry/siblings.ts";
import { listenOperations } from "./telemetry/operations-server.ts";

/** The ports in use; null if the role has no such listener. */
export interface Listening {
  readonly adminPort: number | null;
  readonly proxyPort: number | null;
  readonly operationsPort: number | null;
}

export interface Gatehouse {
  readonly adminUrl: string | null;
  readonly proxyUrl: string | null;
  readonly listening: Listening;
  readonly health: Health;
  /** Rejects when the store rejects this process permanently; never resolves. */
  readonly failed: Promise<never>;
  /** Reports "not ready" and continues to serve, so that load balancers stop sending requests. */
  beginDrain(): void;
  /** Stops accepting connections, waits at most `seconds` for running requests, and closes everything. */
  stop(seconds: number): Promise<void>;
}

/**
 * `siblings` are other processes that listen on the same ports; the kernel distributes connections over them. Tests pass
 * a `clock` that they advance themselves. `watchdogRestarts` is how often a watchdog has replaced this process so far.
 */
export async function startGatehouse(
  settings: Settings,
  role: Role,
  log: Log,
  siblings: Siblings | null = null,
  clock: Clock = systemClock,
  watchdogRestarts = 0,
): Promise<Gatehouse> {
  const secret = readServerSecret(settings, log);
  const health = new Health();
  const storage = await openStorage(settings, secret, health, log, clock);
  const offLoop = new OffLoop({ clock });
  const deadlines = new CoarseDeadlines(clock);
  const upstreamPool = new UpstreamPool(deadlines);
  const { credentials, countFetches } = openCredentials(settings, upstreamPool, log, clock);
  const configuration = await loadConfiguration(settings, storage, health, log, offLoop, credentials, clock);
  const started = { settings, secret, health, log, clock, configuration };
  const telemetry = await startTelemetry(started, packageJson.version, siblings);
  collectOffLoop(telemetry.metrics, offLoop);
  telemetry.metrics.set("gatehouse_watchdog_restarts_total", {}, watchdogRestarts);
  countFetches(telemetry.metrics);
  const sockets = new OpenSockets(telemetry.metrics.number("gatehouse_open_websockets", {}));
  const budgetBook = openBudgets(storage, telemetry.metrics, log, upstreamPool, clock);
  const opened = { storage, telemetry, deadlines, upstreamPool, sockets, offLoop, budgetBook };
  const parts: Parts = { ...started, ...opened };
  const servers: Listener[] = [];
  const dataPlaneParts = createDataPlaneParts(parts);
  let listeners: Listeners | null = null;
  const adminApi = loadAdminApiOnDemand(parts, dataPlaneParts, siblings ?? ALONE, () => listeners);
  const stop = async (seconds: number) => {
    health.phase = "draining";
    // Clients that follow the logs would keep their connections open until the timeout.
    log.recent.close();
    telemetry.observation.requests.close();
    await stopServers(servers, dataPlaneParts, seconds);
    await adminApi.close();
    offLoop.close();
    await credentials.close();
    upstreamPool.close();
    await telemetry.stop();
    await configuration.stop();
    await storage.close();
  };
  try {
    listeners = openListeners(parts, { role, siblings, servers, dataPlaneParts, adminApi });
    health.phase = "serving";
    return {
      adminUrl: listeners.admin?.url.origin ?? null,
      proxyUrl: listeners.proxy?.url.origin ?? null,
      listening: portsOf(listeners),
      health,
      failed: configuration.failed,
      beginDrain: () => void (health.phase = "draining"),
      stop,
    };
  } catch (error) {
    await stop(0);
    throw error;
  }
}

interface Parts {
  readonly settings: Settings;
  readonly log: Log;
  readonly secret: string;
  readonly health: Health;
  readonly storage: Storage;
  readonly configuration: Configuration;
  readonly telemetry: Telemetry;
  readonly deadlines: CoarseDeadlines;
  readonly upstreamPool: UpstreamPool;
  readonly sockets: OpenSockets;
  readonly offLoop: OffLoop;
  readonly budgetBook: BudgetBook;
}

function readServerSecret(settings: Settings, log: Log): string {
  const { value, notice } = resolveServerSecret(settings);
  if (notice !== null) log[notice.level](notice.fields, notice.message);
  return value;
}
type Listener = Pick<Server<undefined>, "port" | "url" | "stop">;

interface Listeners {
  readonly admin: Listener | null;
  readonly proxy: Listener | null;
  readonly operations: Listener | null;
}

function portsOf({ admin, proxy, operations }: Listeners): Listening {
  return {
    adminPort: admin?.port ?? null,
    proxyPort: proxy?.port ?? null,
    operationsPort: operations?.port ?? null,
  };
}

interface ListenerParts {
  readonly role: Role;
  readonly siblings: Siblings | null;
  readonly servers: Listener[];
  readonly dataPlaneParts: DataPlaneParts;
  readonly adminApi: AdminApi;
}

/** Adds each listener to `servers` as soon as it is open, so that a failure of the next one can close it. */
function openListeners(
  parts: Parts,
  { role, siblings, servers, dataPlaneParts, adminApi }: ListenerParts,
): Listeners {
  const { settings, health, telemetry, log } = parts;
  const dataPlane = createDataPlane(dataPlaneParts);
  const address = { hostname: settings.HOST, health, reusePort: siblings !== null };
  const { sharedMetrics: metrics } = telemetry;
  const ports = portsFor(settings, role);
  const open = (setting: PortSetting, message: string, start: (port: number) => Listener) => {
    const port = ports.get(setting);
    if (port === undefined) return null;
    const server = listen(setting, port, settings, start);
    servers.push(server);
    log.info({ url: server.url.origin }, message);
    return server;
  };
  const admin = open("ADMIN_PORT", "admin API listening", (port) =>
    listenAdmin({
      ...address,
      port,
      api: (request, address) => adminApi.respond(request, address),
      trustedProxies: settings.TRUSTED_PROXIES,
      metrics,
      fallThrough: settings.ADMIN_FALLTHROUGH ? dataPlane : null,
    }),
  );
  const proxy = open("PROXY_PORT", "proxy listening", (port) =>
    listenProxy({ ...address, port, dataPlane, deadlines: parts.deadlines, metrics: telemetry.metrics, log }),
  );
  const operations = open("OPERATIONS_PORT", "operations listening", (port) =>
    listenOperations({ ...address, port, metrics }),
  );
  return { admin, proxy, operations };
}

function createDataPlaneParts(parts: Parts): DataPlaneParts {
  const { settings, log, secret, health, storage, configuration, telemetry, deadlines, upstreamPool } = parts;
  const clientAddress = createClientAddress(settings.TRUSTED_PROXIES);
  const isDraining = () => health.phase === "draining";
  const inFlight = new InFlightLimits(settings, clientAddress, log, deadlines.clock);
  return {
    clock: deadlines.clock,
    deadlines,
    current: configuration.current,
    log,
    secret,
    baseDomain: settings.BASE_DOMAIN,
    publicUrl: settings.PUBLIC_URL,
    requireApiKey: settings.REQUIRE_API_KEY,
    maxBodyBytes: settings.MAX_BODY_BYTES,
    maxUploadBytes: settings.MAX_UPLOAD_BYTES,
    offLoop: parts.offLoop,
    bodyBudget: createBodyBudget(settings, telemetry.metrics, deadlines.clock, log),
    clientAddress,
    recordKeyUse: storage.keyUsage.record,
    inFlight,
    shadowTurns: new ShadowTurns(inFlight, deadlines),
    isDraining,
    observation: telemetry.observation,
    usageTotals: storage.usageTotals,
    budgetBook: parts.budgetBook,
    gameDays: storage.gameDays,
    upstreamPool,
    sockets: parts.sockets,
    mirrors: new OpenMirrors(deadlines.clock, isDraining),
    drainedCalls: new DrainedCalls(deadlines.clock, telemetry.metrics, isDraining),
    toolPins: configuration.toolPins,
    silentServers: configuration.silentServers,
    canaries: new CanaryWatch(configuration.current, telemetry.metrics, log, deadlines.clock),
  };
}

/** The Admin API is an eighth of the code, and most nodes rarely need it: its first request loads it. */
function loadAdminApiOnDemand(
  { settings, log, health, configuration, telemetry, deadlines, storage }: Parts,
  dataPlaneParts: DataPlaneParts,
  siblings: Siblings,
  listeners: () => Listeners | null,
): AdminApi {
  const { current } = configuration;
  const shared = {
    requests: telemetry.requests,
    logs: shareLog(log.recent, siblings),
    traffic: shareTraffic(telemetry.observation.traffic, siblings),
    trafficRollups: telemetry.trafficRollups,
    shadow: configuration.shareShadow(siblings),
    responses: shareResponses(storage.responses, siblings, telemetry.metrics, current),
    targetHealth: shareTargetHealth(current, siblings, deadlines.clock),
  };
  const load = async () => {
    const [{ createAdminApi }, { createExplain }] = await Promise.all([
      import("./admin/api.ts"),
      import("./explain/explain.ts"),
    ]);
    return createAdminApi({
      ...dataPlaneParts,
      ...shared,
      ...configuration,
      explain: createExplain({ ...dataPlaneParts, health }),
      signIn: signInSettings(settings),
      version: packageJson.version,
      addresses: {
        publicUrl: settings.PUBLIC_URL,
        baseDomain: settings.BASE_DOMAIN,
        proxyPort: () => listeners()?.proxy?.port ?? null,
      },
    });
  };
  let loading: Promise<AdminApi> | null = null;
  return {
    respond: async (request, address) => (await (loading ??= load())).respond(request, address),
    close: async () => (await loading)?.close(),
  };
}

async function stopServers(
  servers: readonly Listener[],
  { sockets, mirrors, shadowTurns, drainedCalls }: DataPlaneParts,
  seconds: number,
): Promise<void> {
  await mirrors.stop();
  const finished = Promise.all([...servers.map((server) => server.stop()), drainedCalls.finished()]);
  sockets.drain();
  await Promise.race([finished, Bun.sleep(seconds * 1000)]);
  sockets.closeAll();
  await Promise.all([drainedCalls.stop(), ...servers.map((server) => server.stop(true))]);
  await shadowTurns.drain();
}
