// How the targets of an upstream are doing, as this process sees it.
import type { Metrics } from "../telemetry/metrics.ts";
import type { CurrentConfiguration } from "./current.ts";

/** Looked up whenever somebody asks: a target that is no more leaves no figures behind. */
export function collectTargets(metrics: Metrics, current: CurrentConfiguration): void {
  metrics.onCollect(() => {
    metrics.clear(
      "gatehouse_target_healthy",
      "gatehouse_target_in_flight",
      "gatehouse_target_ejections_total",
    );
    const now = performance.now();
    for (const { gateway, upstreams } of current.snapshot.gateways.values()) {
      for (const { name, targets, plan } of upstreams) {
        for (const { id, index, provider } of targets) {
          const state = plan.contenders[index]?.state;
          if (state === undefined) continue;
          const labels = { gateway: gateway.name, upstream: name, target: id, provider };
          const isHealthy = plan.state(index, now) === "healthy";
          metrics.number("gatehouse_target_healthy", labels).add(Number(isHealthy));
          metrics.number("gatehouse_target_in_flight", labels).add(state.inFlight);
          metrics.number("gatehouse_target_ejections_total", labels).add(state.ejections);
        }
      }
    }
  });
}
