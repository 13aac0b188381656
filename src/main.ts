// The composition root: settings → log → store → configuration → listeners, and the way back down.
import type { Server } from "bun";
import { join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import type { AdminApi } from "./admin/api.ts";
import { listenAdmin } from "./admin/server.ts";
import { BalanceRegistry } from "./balance/balance-registry.ts";
import { resolveServerSecret } from "./config/server-secret.ts";
import { listen } from "./config/listen.ts";
import { SettingsError, type Settings } from "./config/settings.ts";
import type { Counters } from "./counters/counters.ts";
import { MemoryCounters } from "./counters/memory.ts";
import { CustomPlugins } from "./plugins/custom-plugins.ts";
import { PluginRegistry } from "./plugins/registry.ts";
import { createDataPlane } from "./proxy/handle.ts";
import { ConcurrencyLimit } from "./proxy/concurrency-limit.ts";
import { listenProxy } from "./proxy/server.ts";
import { Blocks } from "./runtime/blocks.ts";
import { CurrentConfiguration } from "./runtime/current-configuration.ts";
import { followStore } from "./runtime/follow-store.ts";
import { KeyUsage } from "./usage/key-usage.ts";
import { PluginHosts } from "./runtime/plugin-hosts.ts";
import { collectTargets, shareTargetHealth } from "./runtime/target-health.ts";
import { UsageTotals } from "./usage/usage-totals.ts";
import { CredentialCipher } from "./store/credential-cipher.ts";
import { UpstreamPool } from "./upstream/upstream-pool.ts";
import { openStore } from "./store/sql-store.ts";
import { StoreRejected } from "./store/store.ts";
import { Health } from "./telemetry/health.ts";
import type { Log } from "./telemetry/log/log.ts";
import { collectHealth, Metrics } from "./telemetry/metrics/metrics.ts";
import { shareMetrics, shareRequests, shareTraffic } from "./telemetry/shared-sources.ts";
import { ALONE, type Siblings } from "./telemetry/siblings.ts";
import { Observation } from "./telemetry/observation.ts";
import { collectProcessMetrics } from "./telemetry/metrics/process-metrics.ts";
import type { Tracer } from "./telemetry/traces/tracer.ts";

export type Role = "admin" | "proxy" | "all";

/** The ports in use; null where the role has no such listener. */
export interface Listening {
  readonly adminPort: number | null;
  readonly proxyPort: number | null;
}

export interface Gatehouse {
  readonly adminUrl: string | null;
  readonly proxyUrl: string | null;
  readonly listening: Listening;
  readonly health: Health;
  /** Rejects when the store refuses this process for good; never resolves. */
  readonly failed: Promise<never>;
  /** Says "not ready" and goes on serving, so that load balancers look elsewhere. */
  beginDrain(): void;
  /** Stops accepting, lets what runs finish for at most `seconds`, and lets go of everything. */
  stop(seconds: number): Promise<void>;
}

export async function startGatehouse(
  settings: Settings,
  role: Role,
  log: Log,
  /** Other processes that listen on the same ports: the system spreads connections over them. */
  siblings: Siblings | null = null,
): Promise<Gatehouse> {
  const secret = resolveServerSecret(settings);
  if (secret.notice !== null) log[secret.notice.level](secret.notice.sentence);

  const health = new Health();
  const registry = new PluginRegistry();
  const cipher = new CredentialCipher(settings.ENCRYPTION_KEY ?? secret.value);
  const embedded = `sqlite://${join(settings.DATA_DIR, "gatehouse.db")}`;
  const databaseUrl = settings.DATABASE_URL ?? embedded;
  const store = openStore(databaseUrl, cipher, settings.REVISIONS_KEPT);
  const counters = await openCounters(settings, health, log);
  const blocks: Blocks = new Blocks(() => current, log);
  const hosts = new PluginHosts(counters, blocks, log);
  const compile = { plugins: registry, balance: new BalanceRegistry(), instances: hosts };
  const current: CurrentConfiguration = new CurrentConfiguration(store, compile, health, log);
  const customPlugins = new CustomPlugins(settings.PLUGINS_DIR, registry, log, (name) =>
    current.recompilePlugin(name),
  );
  await customPlugins.start();

  // An embedded database that cannot be opened is a mistake to be told at once; a server may yet come up. Either way
  // whoever connects soon after the start should not find an empty gateway.
  await current.refresh().catch((error: unknown) => {
    if (databaseUrl.startsWith("sqlite:")) refuseEmbedded(error, settings);
  });
  // Nor should the first request be the one that waits for a plugin to load.
  await hosts.ready();
  const stopFollowing = new AbortController();
  const following = followStore(current, health, log, stopFollowing.signal);
  const failed = following.then(() => new Promise<never>(() => undefined));

  const keyUsage = new KeyUsage(store, log);
  const metrics = new Metrics();
  const observation = new Observation(metrics, log, {
    requestLogSize: settings.REQUEST_LOG_SIZE,
    tracer: await openTracer(settings, metrics, log),
  });
  collectHealth(metrics, health);
  collectTargets(metrics, current);
  const stopProcessFigures = collectProcessMetrics(metrics);
  const usageTotals = new UsageTotals(store, log);
  const upstreamPool = new UpstreamPool();
  const dataPlaneParts = {
    current,
    log,
    secret: secret.value,
    baseDomain: settings.BASE_DOMAIN,
    requireApiKey: settings.REQUIRE_API_KEY,
    maxBodyBytes: settings.MAX_BODY_BYTES,
    trustedProxies: settings.TRUSTED_PROXIES,
    recordKeyUse: keyUsage.record,
    inFlight: new ConcurrencyLimit(settings.MAX_IN_FLIGHT, log),
    isDraining: () => health.phase === "draining",
    observation,
    usageTotals,
    upstreamPool,
  };
  const dataPlane = createDataPlane(dataPlaneParts);
  const servers: Server<undefined>[] = [];
  const stop = async (seconds: number) => {
    health.phase = "draining";
    // Whoever follows the requests would otherwise hold up the end.
    observation.requests.close();
    const finished = Promise.all(servers.map((server) => server.stop()));
    await Promise.race([finished, Bun.sleep(seconds * 1000)]);
    await Promise.all(servers.map((server) => server.stop(true)));
    upstreamPool.close();
    observation.flush();
    await observation.tracer?.close();
    stopProcessFigures();
    stopFollowing.abort();
    await following.catch(() => undefined);
    customPlugins.stop();
    blocks.stop();
    await keyUsage.stop();
    await usageTotals.stop();
    await counters.close();
    await store.close();
  };

  const address = { hostname: settings.HOST, health, reusePort: siblings !== null };
  let admin: Server<undefined> | null = null;
  let proxy: Server<undefined> | null = null;
  try {
    if (role !== "proxy") {
      const sharedMetrics = shareMetrics(metrics, siblings ?? ALONE);
      const requests = shareRequests(observation.requests, siblings ?? ALONE);
      const traffic = shareTraffic(observation.traffic, siblings ?? ALONE);
      const targetHealth = shareTargetHealth(current, siblings ?? ALONE);
      const api = loadedOnDemand(async () => {
        const [{ createAdminApi }, { createExplain }] = await Promise.all([
          import("./admin/api.ts"),
          import("./explain/explain.ts"),
        ]);
        return createAdminApi({
          current,
          registry,
          counters,
          usageTotals,
          explain: createExplain({ ...dataPlaneParts, health }),
          secret: secret.value,
          maxBodyBytes: settings.MAX_BODY_BYTES,
          version: packageJson.version,
          log,
          requests,
          traffic,
          targetHealth,
        });
      });
      admin = listen("ADMIN_PORT", settings, (port) =>
        listenAdmin({ ...address, port, api, metrics: sharedMetrics, fallThrough: dataPlane }),
      );
      servers.push(admin);
      log.info({ url: admin.url.origin }, "the Admin API listens");
    }
    if (role !== "admin") {
      proxy = listen("PROXY_PORT", settings, (port) => listenProxy({ ...address, port, dataPlane }));
      servers.push(proxy);
      log.info({ url: proxy.url.origin }, "the proxy listens");
    }
  } catch (error) {
    await stop(0);
    throw error;
  }
  health.phase = "serving";
  const beginDrain = () => void (health.phase = "draining");
  return {
    adminUrl: admin?.url.origin ?? null,
    proxyUrl: proxy?.url.origin ?? null,
    listening: { adminPort: admin?.port ?? null, proxyPort: proxy?.port ?? null },
    health,
    failed,
    beginDrain,
    stop,
  };
}

/** The Admin API is an eighth of the code to load, and most nodes are hardly ever asked for it: its first request loads it. */
function loadedOnDemand(load: () => Promise<AdminApi>): AdminApi {
  let loading: Promise<AdminApi> | null = null;
  return async (request) => (await (loading ??= load()))(request);
}

/** Shared counters where there is a Redis, this process's own where there is none. */
async function openCounters(settings: Settings, health: Health, log: Log): Promise<Counters> {
  if (settings.REDIS_URL === null) return new MemoryCounters();
  const { RedisCounters } = await import("./counters/redis.ts");
  const redis = new RedisCounters(settings.REDIS_URL, {
    silentMs: settings.REDIS_SILENT_MS,
    onStateChange: (state) => {
      health.counters = state;
      if (state.state === "away") {
        health.countersLost++;
        log.warn({ detail: state.detail }, "the shared counters are away");
      } else log.info("the shared counters are there");
    },
  });
  // A node that counted for itself at first would let too many through.
  await redis.settled;
  health.counters = redis.state;
  return redis;
}

/** Null where no collector is set: then tracing costs nothing, not even its code. */
async function openTracer(settings: Settings, metrics: Metrics, log: Log): Promise<Tracer | null> {
  const endpoint = settings.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (endpoint === null) return null;
  const [{ Tracer }, { TraceExporter }] = await Promise.all([
    import("./telemetry/traces/tracer.ts"),
    import("./telemetry/traces/trace-exporter.ts"),
  ]);
  const options = {
    endpoint,
    headers: settings.OTEL_EXPORTER_OTLP_HEADERS,
    serviceName: settings.OTEL_SERVICE_NAME,
    version: packageJson.version,
    delayMs: settings.OTEL_BSP_SCHEDULE_DELAY,
  };
  return new Tracer(new TraceExporter(options, metrics, log), settings.OTEL_TRACES_SAMPLER_ARG);
}

function refuseEmbedded(error: unknown, { DATABASE_URL, DATA_DIR }: Settings): never {
  if (error instanceof StoreRejected) throw error;
  const reason = error instanceof Error ? error.message : String(error);
  const place = DATABASE_URL === null ? `DATA_DIR ${DATA_DIR}` : `DATABASE_URL ${DATABASE_URL}`;
  throw new SettingsError(
    `${place} cannot hold the database: ${reason} Make it writable, or choose another.`,
  );
}
