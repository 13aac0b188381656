// Traffic for charts: of the last minutes, one point per second, or of up to seven days, from rollups.
import { z } from "zod";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { TrafficRollups } from "../../runtime/traffic-rollups.ts";
import { ALL_GATEWAYS } from "../../store/sql-traffic.ts";
import { TRAFFIC_SECONDS } from "../../telemetry/requests/second-ring.ts";
import { showPoints, showTotal, type TrafficSource } from "../../telemetry/requests/traffic.ts";
import { forbidden, requireGatewayAccess } from "../identity.ts";
import { wholeNumber } from "../list-query.ts";
import { addOperation, type RouteTable } from "../operation.ts";
import { requireGateway } from "../write.ts";

/** Steps of the rollups that the ranges are read from, in seconds, and their number. */
const RANGES = {
  "1h": { step: 60, count: 60 },
  "24h": { step: 900, count: 96 },
  "7d": { step: 3600, count: 168 },
} as const;

const MAX_SUMMED_GATEWAYS = 50;

const trafficQuery = z.strictObject({
  seconds: wholeNumber(300, 1, TRAFFIC_SECONDS),
  range: z
    .enum(["1h", "24h", "7d"])
    .optional()
    .meta({
      description:
        "In place of `seconds`: points of a minute, of 15 minutes, or of an hour, which survive restarts. They include " +
        "all nodes, and what other processes counted in the last seconds may be missing.",
    }),
  gateway_id: z.string().optional(),
});

export function addTrafficRoutes(
  table: RouteTable,
  current: CurrentConfiguration,
  source: TrafficSource,
  rollups: TrafficRollups,
): void {
  addOperation(table, {
    method: "get",
    path: "/traffic",
    tag: "traffic",
    summary: "Get the traffic of the last seconds, hours or days",
    access: { role: "viewer", limited: "filtered" },
    query: trafficQuery,
    response: {
      status: 200,
      schema: "Traffic",
      description:
        "One point per second or per step of the range, oldest first, over all gateways that the administrator may see, or one. The last point is not complete yet.",
    },
    handle: async ({ query: { seconds, range, gateway_id }, caller }) => {
      if (gateway_id !== undefined) {
        requireGatewayAccess(caller.identity, gateway_id);
        await requireGateway(current.store, gateway_id);
      }
      const gatewayIds = gateway_id === undefined ? caller.identity.gateways : [gateway_id];
      const { step, count } = range === undefined ? { step: 1, count: seconds } : RANGES[range];
      const to = Math.floor(table.deadlines.clock.unixNow() / 1000 / step) * step;
      const from = to - (count - 1) * step;
      const points = await (range === undefined
        ? source.readTraffic(from, to, gatewayIds)
        : rollups.read({ gatewayIds: summable(gatewayIds), step, from, to }));
      return Response.json({
        points: showPoints(points, from, to, step),
        total: showTotal(points),
        step_seconds: step,
      });
    },
  });
}

/** Rollups are kept per gateway and for all of them. Those of some gateways are summed when they are read, so their number is limited. */
function summable(gatewayIds: readonly string[] | null): readonly string[] {
  if (gatewayIds === null) return [ALL_GATEWAYS];
  if (gatewayIds.length <= MAX_SUMMED_GATEWAYS) return gatewayIds;
  throw forbidden(
    `Your access is limited to ${gatewayIds.length} gateways, and ranges are summed over at most ${MAX_SUMMED_GATEWAYS}. ` +
      "Name one of them in gateway_id.",
  );
}
