// How the targets of an upstream are doing, as this process sees it.
import type { TargetCondition } from "../balance/balance-plan.ts";
import type { Metrics } from "../telemetry/metrics/metrics.ts";
import type { Siblings } from "../telemetry/siblings.ts";
import type { CompiledUpstream } from "../snapshot/compile-upstream.ts";
import type { CurrentConfiguration } from "./current-configuration.ts";

/** As the Admin API shows it. */
export interface TargetHealth {
  readonly target_id: string;
  readonly provider: string;
  /** `out`: taken out by passive checks; `trial`: one request may try it; `resting`: it asked for a rest by 429. */
  readonly state: "healthy" | "out" | "trial" | "resting";
  /** Failures in a row; an ejection starts the count anew. */
  readonly failures: number;
  /** When it is no longer out, or has rested. */
  readonly until: string | null;
  readonly in_flight: number;
  /** Moving average of the time to first byte. */
  readonly latency_ms: number | null;
}

const STATES: Readonly<Record<TargetCondition, TargetHealth["state"]>> = {
  healthy: "healthy",
  ejected: "out",
  probing: "trial",
  resting: "resting",
};

export function targetHealth({ targets, plan }: CompiledUpstream): TargetHealth[] {
  const now = performance.now();
  const wallNow = Date.now();
  return targets.flatMap(({ id, index, provider }) => {
    const target = plan.contenders[index]?.state;
    if (target === undefined) return [];
    const state = STATES[plan.state(index, now)];
    const { health, restUntil, latency, inFlight } = target;
    const until = state === "out" ? health.ejectedUntil : state === "resting" ? restUntil : null;
    return {
      target_id: id,
      provider,
      state,
      failures: health.failuresInRow,
      until: until === null ? null : new Date(wallNow + (until - now)).toISOString(),
      in_flight: inFlight,
      latency_ms: latency.averageMs === Infinity ? null : Math.round(latency.averageMs * 100) / 100,
    };
  });
}

/** How the targets of an upstream are doing, as all processes that share the listeners see it. */
export type TargetHealthSource = (gatewayId: string, upstreamId: string) => Promise<TargetHealth[]>;

interface TargetHealthQuestion {
  readonly gatewayId: string;
  readonly upstreamId: string;
}

export function shareTargetHealth(current: CurrentConfiguration, siblings: Siblings): TargetHealthSource {
  const own = ({ gatewayId, upstreamId }: TargetHealthQuestion) => {
    // Another node may have made it a moment ago, or it does not compile here: then there is nothing to tell.
    const { upstreams = [] } = current.snapshot.gateways.get(gatewayId) ?? {};
    const upstream = upstreams.find(({ id }) => id === upstreamId);
    return upstream === undefined ? [] : targetHealth(upstream);
  };
  siblings.onQuery("target health", (question) => own(question as TargetHealthQuestion));
  return async (gatewayId, upstreamId) => {
    const question = { gatewayId, upstreamId };
    const others = (await siblings.query("target health", question)) as TargetHealth[][];
    return mergeTargetHealth([own(question), ...others]);
  };
}

/** How several processes that share their listeners see one target: the worst state, all that is under way. */
export function mergeTargetHealth(lists: readonly (readonly TargetHealth[])[]): TargetHealth[] {
  const merged = new Map<string, TargetHealth>();
  for (const one of lists.flat()) {
    const other = merged.get(one.target_id);
    merged.set(one.target_id, other === undefined ? one : joined(other, one));
  }
  return [...merged.values()];
}

const FROM_BEST: readonly TargetHealth["state"][] = ["healthy", "resting", "trial", "out"];

function joined(one: TargetHealth, other: TargetHealth): TargetHealth {
  const rank = ({ state }: TargetHealth) => FROM_BEST.indexOf(state);
  const isEqual = rank(one) === rank(other);
  const worse = rank(one) >= rank(other) ? one : other;
  const until = isEqual && (other.until ?? "") > (one.until ?? "") ? other.until : worse.until;
  const latencies = [one.latency_ms, other.latency_ms].filter((latency) => latency !== null);
  return {
    ...worse,
    until,
    failures: Math.max(one.failures, other.failures),
    in_flight: one.in_flight + other.in_flight,
    latency_ms: latencies.length === 0 ? null : Math.max(...latencies),
  };
}

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
