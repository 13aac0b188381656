// The health of targets: as the Admin API shows it, merged over all worker processes, and as metrics.
import type { Clock } from "../base/clock.ts";
import type { TargetCondition } from "../balance/balance-plan.ts";
import type { Metrics } from "../telemetry/metrics/metrics.ts";
import type { Siblings } from "../telemetry/siblings.ts";
import type { CompiledUpstream } from "../snapshot/compile-upstream.ts";
import type { CurrentConfiguration } from "./current-configuration.ts";

/** The health of a target as the Admin API shows it. */
export interface TargetHealth {
  readonly target_id: string;
  readonly provider: string;
  /** `out`: ejected by passive checks; `trial`: one request may try it; `resting`: it responded 429 and is skipped. */
  readonly state: "healthy" | "out" | "trial" | "resting";
  /** Consecutive failures; an ejection resets the count. */
  readonly failures: number;
  /** Consecutive failures, also without passive health checks; an ejection does not reset the count. Null without results. */
  readonly recent_failures: number | null;
  /** When the state `out` or `resting` ends. */
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

function targetHealth({ targets, plan }: CompiledUpstream, clock: Clock): TargetHealth[] {
  const now = clock.now();
  const unixNow = clock.unixNow();
  return targets.flatMap(({ id, index, provider }) => {
    const target = plan.contenders[index]?.state;
    if (target === undefined) return [];
    const state = STATES[plan.state(index, now)];
    const { health, restUntil, latency, inFlight, failuresInRow } = target;
    const until = state === "out" ? health.ejectedUntil : state === "resting" ? restUntil : null;
    return {
      target_id: id,
      provider,
      state,
      failures: health.consecutiveFailures,
      recent_failures: failuresInRow,
      until: until === null ? null : new Date(unixNow + (until - now)).toISOString(),
      in_flight: inFlight,
      latency_ms: latency.averageMs === Infinity ? null : Math.round(latency.averageMs * 100) / 100,
    };
  });
}

/** The health of targets, merged over all worker processes. */
export interface TargetHealthSource {
  /** Of the targets of an upstream. */
  ofUpstream(gatewayId: string, upstreamId: string): Promise<TargetHealth[]>;
  /** Of all targets of some gateways; null: of all gateways. */
  ofGateways(gatewayIds: readonly string[] | null): Promise<LocatedTargetHealth[]>;
}

/** The health of a target, with the records that it belongs to. */
export interface LocatedTargetHealth extends TargetHealth {
  readonly gateway_id: string;
  readonly gateway: string;
  readonly upstream_id: string;
  readonly upstream: string;
  readonly weight: number;
}

interface TargetHealthQuery {
  readonly gatewayId: string;
  readonly upstreamId: string;
}

export function shareTargetHealth(
  current: CurrentConfiguration,
  siblings: Siblings,
  clock: Clock,
): TargetHealthSource {
  const own = ({ gatewayId, upstreamId }: TargetHealthQuery) => {
    // The upstream can be missing: another node has just created it, or its gateway does not compile here.
    const { upstreams = [] } = current.snapshot.gateways.get(gatewayId) ?? {};
    const upstream = upstreams.find(({ id }) => id === upstreamId);
    return upstream === undefined ? [] : targetHealth(upstream, clock);
  };
  siblings.onQuery("target health", (query) => own(query as TargetHealthQuery));
  siblings.onQuery("all target health", () => allTargets(current, null, clock).filter(isNoteworthy));
  return {
    ofUpstream: async (gatewayId, upstreamId) => {
      const query = { gatewayId, upstreamId };
      const others = (await siblings.query("target health", query)) as TargetHealth[][];
      return mergeTargetHealth([own(query), ...others]);
    },
    ofGateways: async (gatewayIds) => {
      const targets = allTargets(current, gatewayIds, clock);
      const others = (await siblings.query("all target health", null)) as LocatedTargetHealth[][];
      const known = new Set(targets.map(({ target_id }) => target_id));
      const reported = others.flat().filter(({ target_id }) => known.has(target_id));
      return mergeTargetHealth([targets, reported]);
    },
  };
}

function allTargets(
  { snapshot }: CurrentConfiguration,
  gatewayIds: readonly string[] | null,
  clock: Clock,
): LocatedTargetHealth[] {
  const gateways =
    gatewayIds === null
      ? [...snapshot.gateways.values()]
      : gatewayIds.flatMap((id) => snapshot.gateways.get(id) ?? []);
  return gateways.flatMap(({ id, gateway, upstreams, parts }) =>
    upstreams.flatMap((upstream) => {
      const stored = parts.upstreams.find((each) => each.id === upstream.id)?.targets ?? [];
      return targetHealth(upstream, clock).map((health) => ({
        ...health,
        gateway_id: id,
        gateway: gateway.name,
        upstream_id: upstream.id,
        upstream: upstream.name,
        weight: stored.find((target) => target.id === health.target_id)?.weight ?? 0,
      }));
    }),
  );
}

/** Whether merging this changes what another process reports of the target. Keeps messages between processes small. */
function isNoteworthy({ state, failures, in_flight, latency_ms }: TargetHealth): boolean {
  return state !== "healthy" || failures > 0 || in_flight > 0 || latency_ms !== null;
}

/** Merges what several processes report: per target, the worst state and the sum of requests in flight. */
export function mergeTargetHealth<T extends TargetHealth>(lists: readonly (readonly T[])[]): T[] {
  const merged = new Map<string, T>();
  for (const one of lists.flat()) {
    const other = merged.get(one.target_id);
    merged.set(one.target_id, other === undefined ? one : merge(other, one));
  }
  return [...merged.values()];
}

const BEST_TO_WORST: readonly TargetHealth["state"][] = ["healthy", "resting", "trial", "out"];

function merge<T extends TargetHealth>(one: T, other: T): T {
  const rank = ({ state }: TargetHealth) => BEST_TO_WORST.indexOf(state);
  const isEqual = rank(one) === rank(other);
  const worse = rank(one) >= rank(other) ? one : other;
  const until = isEqual && (other.until ?? "") > (one.until ?? "") ? other.until : worse.until;
  const latencies = [one.latency_ms, other.latency_ms].filter((latency) => latency !== null);
  const failures = [one.recent_failures, other.recent_failures].filter((count) => count !== null);
  return {
    ...worse,
    until,
    failures: Math.max(one.failures, other.failures),
    recent_failures: failures.length === 0 ? null : Math.max(...failures),
    in_flight: one.in_flight + other.in_flight,
    latency_ms: latencies.length === 0 ? null : Math.max(...latencies),
  };
}

/** Sets the metrics of all targets on each collection, so that deleted targets leave no series behind. */
export function collectTargets(metrics: Metrics, current: CurrentConfiguration, clock: Clock): void {
  metrics.onCollect(() => {
    metrics.clear(
      "gatehouse_target_healthy",
      "gatehouse_target_in_flight",
      "gatehouse_target_ejections_total",
    );
    const now = clock.now();
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
