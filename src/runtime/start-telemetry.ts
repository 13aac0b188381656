// Starts the telemetry of a process: metrics, observation of requests, and traces.
import type { Clock } from "../base/clock.ts";
import type { Settings } from "../config/settings.ts";
import type { Health } from "../telemetry/health.ts";
import type { Log } from "../telemetry/log/log.ts";
import { collectHealth, Metrics } from "../telemetry/metrics/metrics.ts";
import { collectProcessMetrics } from "../telemetry/metrics/process-metrics.ts";
import { Observation } from "../telemetry/observation.ts";
import { openTracer } from "../telemetry/traces/open-tracer.ts";
import { collectBlocks } from "./blocks.ts";
import type { Configuration } from "./load-configuration.ts";
import { collectTargets } from "./target-health.ts";

export interface Telemetry {
  readonly metrics: Metrics;
  readonly observation: Observation;
  stop(): Promise<void>;
}

export async function startTelemetry(
  settings: Settings,
  { current, blocks }: Configuration,
  health: Health,
  log: Log,
  clock: Clock,
  version: string,
): Promise<Telemetry> {
  const metrics = new Metrics();
  metrics.set("gatehouse_build_info", { version, runtime: Bun.version }, 1);
  const observation = new Observation(metrics, log, {
    requestLogSize: settings.REQUEST_LOG_SIZE,
    tracer: await openTracer(settings, version, metrics, log),
  });
  collectHealth(metrics, health);
  collectTargets(metrics, current, clock);
  collectBlocks(metrics, blocks, current);
  metrics.onCollect(() => {
    metrics.dropDeletedGateways([...current.snapshot.gateways.values()].map(({ gateway }) => gateway.name));
  });
  const stopProcessMetrics = collectProcessMetrics(metrics);
  const stop = async () => {
    observation.flush();
    await observation.tracer?.close();
    stopProcessMetrics();
  };
  return { metrics, observation, stop };
}
