// Starts the telemetry of a process: metrics, observation of requests, and traces.
import type { Clock } from "../base/clock.ts";
import type { Settings } from "../config/settings.ts";
import type { Health } from "../telemetry/health.ts";
import type { Log } from "../telemetry/log/log.ts";
import { collectHealth, Metrics, type MetricsSource } from "../telemetry/metrics/metrics.ts";
import { openMetricsExporter } from "../telemetry/metrics/open-metrics-exporter.ts";
import { collectProcessMetrics } from "../telemetry/metrics/process-metrics.ts";
import { openRequestSource } from "../telemetry/nodes/open-request-source.ts";
import { Observation } from "../telemetry/observation.ts";
import type { RequestSource } from "../telemetry/requests/request-log.ts";
import { shareMetrics } from "../telemetry/shared-sources.ts";
import { ALONE, type Siblings } from "../telemetry/siblings.ts";
import { openRequestSink } from "../telemetry/request-sink/open-request-sink.ts";
import { openTracer } from "../telemetry/traces/open-tracer.ts";
import { collectBlocks } from "./blocks.ts";
import type { Configuration } from "./load-configuration.ts";
import { TrafficRollups } from "./traffic-rollups.ts";
import { collectSilences } from "./mcp-silences.ts";
import { collectToolPins } from "./collect-tool-pins.ts";
import { collectTargets } from "./target-health.ts";

export interface Telemetry {
  readonly metrics: Metrics;
  /** The metrics of all worker processes. */
  readonly sharedMetrics: MetricsSource;
  readonly observation: Observation;
  readonly trafficRollups: TrafficRollups;
  /** The requests of all worker processes and nodes. */
  readonly requests: RequestSource;
  stop(): Promise<void>;
}

interface TelemetryParts {
  readonly settings: Settings;
  readonly secret: string;
  readonly health: Health;
  readonly log: Log;
  readonly clock: Clock;
  readonly configuration: Configuration;
}

export async function startTelemetry(
  {
    settings,
    secret,
    health,
    log,
    clock,
    configuration: { current, blocks, toolPins, silentServers, pluginRestarts },
  }: TelemetryParts,
  version: string,
  siblings: Siblings | null,
): Promise<Telemetry> {
  const metrics = new Metrics();
  const workers = siblings ?? ALONE;
  const sharedMetrics = shareMetrics(metrics, workers);
  metrics.set("gatehouse_build_info", { version, runtime: Bun.version }, 1);
  const observation = new Observation(metrics, log, {
    requestLogSize: settings.REQUEST_LOG_SIZE,
    tracer: await openTracer(settings, version, workers.service, metrics, log),
    sink: await openRequestSink({ settings, version, service: workers.service, metrics, log, clock }),
  });
  const trafficRollups = new TrafficRollups(current.store.traffic, observation, log, clock);
  collectHealth(metrics, health);
  collectTargets(metrics, current, clock);
  collectBlocks(metrics, blocks, current);
  collectToolPins(metrics, toolPins, current);
  collectSilences(metrics, silentServers, current);
  metrics.onCollect(() => {
    metrics.dropDeletedGateways([...current.snapshot.gateways.values()].map(({ gateway }) => gateway.name));
  });
  metrics.onCollect(() => {
    for (const { plugin, isolation, count } of pluginRestarts())
      metrics.set("gatehouse_plugin_restarts_total", { plugin, isolation }, count);
  });
  const stopProcessMetrics = collectProcessMetrics(metrics);
  const exporter = await openMetricsExporter(settings, version, sharedMetrics, workers, log);
  const own = observation.requests;
  const requests = await openRequestSource({ settings, secret, siblings: workers, own, metrics, log, clock });
  const stop = async () => {
    observation.flush();
    requests.close();
    await trafficRollups.stop();
    await Promise.all([observation.tracer?.close(), observation.sink?.close(), exporter?.close()]);
    stopProcessMetrics();
  };
  return { metrics, sharedMetrics, observation, trafficRollups, requests: requests.source, stop };
}
