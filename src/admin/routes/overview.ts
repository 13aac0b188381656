// What is going on in all gateways, in one response: numbers of records, health of targets, and gateways by traffic.
import { z } from "zod";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { LocatedTargetHealth, TargetHealthSource } from "../../runtime/target-health.ts";
import { TRAFFIC_SECONDS } from "../../telemetry/requests/second-ring.ts";
import type { GatewayTraffic, TrafficSource } from "../../telemetry/requests/traffic.ts";
import { mayAccessGateway, requireGatewayAccess, type Identity } from "../identity.ts";
import { wholeNumber } from "../list-query.ts";
import { addOperation, type RouteTable } from "../operation.ts";
import { requireGateway } from "../write.ts";

const overviewQuery = z.strictObject({
  seconds: wholeNumber(300, 1, TRAFFIC_SECONDS),
  limit: wholeNumber(20, 1, 100).meta({ description: "The most targets and gateways to list." }),
  gateway_id: z.string().optional(),
});

interface OverviewSources {
  readonly traffic: TrafficSource;
  readonly targetHealth: TargetHealthSource;
}

export function addOverviewRoutes(
  table: RouteTable,
  current: CurrentConfiguration,
  { traffic, targetHealth }: OverviewSources,
): void {
  addOperation(table, {
    method: "get",
    path: "/overview",
    tag: "traffic",
    summary: "Get the health of all targets and the busiest gateways",
    access: { role: "viewer", limited: "filtered" },
    query: overviewQuery,
    response: {
      status: 200,
      schema: "Overview",
      description:
        "Of the gateways that the administrator may see, or of one, as seen by this node. Targets that need attention are " +
        "first; gateways are listed if they had requests, those with the most errors first.",
    },
    handle: async ({ query: { seconds, limit, gateway_id }, caller: { identity } }) => {
      if (gateway_id !== undefined) {
        requireGatewayAccess(identity, gateway_id);
        await requireGateway(current.store, gateway_id);
      }
      const gatewayIds = gateway_id === undefined ? identity.gateways : [gateway_id];
      const to = Math.floor(table.deadlines.clock.unixNow() / 1000);
      const [targets, sums] = await Promise.all([
        targetHealth.ofGateways(gatewayIds),
        traffic.sumByGateway(to - seconds + 1, to),
      ]);
      return Response.json({
        gateway_count: countGateways(current, gatewayIds),
        target_count: targets.length,
        target_states: countStates(targets),
        targets: targets.sort(byAttention).slice(0, limit),
        gateways: gatewaysByTraffic(current, visibleTo(identity, gateway_id, sums)).slice(0, limit),
        limit,
      });
    },
  });
}

function visibleTo(
  identity: Identity,
  gatewayId: string | undefined,
  sums: readonly GatewayTraffic[],
): readonly GatewayTraffic[] {
  return sums.filter(
    (each) =>
      mayAccessGateway(identity, each.gatewayId) && (gatewayId === undefined || each.gatewayId === gatewayId),
  );
}

function countGateways({ snapshot }: CurrentConfiguration, ids: readonly string[] | null): number {
  return ids === null
    ? snapshot.gateways.size
    : ids.filter((id) => snapshot.gateways.get(id) !== undefined).length;
}

const STATES = ["out", "trial", "resting", "failing", "healthy", "drained"] as const;

/** A target without weight gets no requests, so its health does not matter. */
function stateOf({ state, weight, recent_failures }: LocatedTargetHealth): (typeof STATES)[number] {
  if (weight === 0) return "drained";
  return state === "healthy" && (recent_failures ?? 0) > 0 ? "failing" : state;
}

function countStates(targets: readonly LocatedTargetHealth[]): Record<(typeof STATES)[number], number> {
  const counts = { out: 0, trial: 0, resting: 0, failing: 0, healthy: 0, drained: 0 };
  for (const target of targets) counts[stateOf(target)]++;
  return counts;
}

/** By state, then the most consecutive failures first, then those in use, then by name. */
function byAttention(one: LocatedTargetHealth, other: LocatedTargetHealth): number {
  return (
    STATES.indexOf(stateOf(one)) - STATES.indexOf(stateOf(other)) ||
    (other.recent_failures ?? 0) - (one.recent_failures ?? 0) ||
    other.in_flight - one.in_flight ||
    Number(one.latency_ms === null) - Number(other.latency_ms === null) ||
    compareTexts(one.gateway, other.gateway)
  );
}

function gatewaysByTraffic({ snapshot }: CurrentConfiguration, sums: readonly GatewayTraffic[]) {
  return sums
    .flatMap(({ gatewayId, requests, errors }) => {
      // A gateway that was deleted has traffic for some minutes.
      const compiled = snapshot.gateways.get(gatewayId);
      return compiled === undefined
        ? []
        : { gateway_id: gatewayId, gateway: compiled.gateway.name, requests, errors };
    })
    .sort((one, other) => other.errors - one.errors || other.requests - one.requests);
}

function compareTexts(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
