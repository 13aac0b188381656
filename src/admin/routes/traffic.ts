// Traffic of the last minutes for charts, one point per second.
import { z } from "zod";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import { TRAFFIC_SECONDS } from "../../telemetry/requests/second-ring.ts";
import { showPoints, showTotal, type TrafficSource } from "../../telemetry/requests/traffic.ts";
import { requireOneGateway } from "../identity.ts";
import { wholeNumber } from "../list-query.ts";
import { addOperation, type RouteTable } from "../operation.ts";
import { requireGateway } from "../write.ts";

const trafficQuery = z.strictObject({
  seconds: wholeNumber(300, 1, TRAFFIC_SECONDS),
  gateway_id: z.string().optional(),
});

export function addTrafficRoutes(
  table: RouteTable,
  current: CurrentConfiguration,
  source: TrafficSource,
): void {
  addOperation(table, {
    method: "get",
    path: "/traffic",
    tag: "traffic",
    summary: "Get the traffic of the last seconds",
    access: { role: "viewer", limited: "filtered" },
    query: trafficQuery,
    response: {
      status: 200,
      schema: "Traffic",
      description: "One point per second, oldest first. The last second is not complete yet.",
    },
    handle: async ({ query: { seconds, gateway_id }, caller }) => {
      requireOneGateway(caller.identity, gateway_id ?? null);
      if (gateway_id !== undefined) await requireGateway(current.store, gateway_id);
      const to = Math.floor(table.deadlines.clock.unixNow() / 1000);
      const from = to - seconds + 1;
      const points = await source.readTraffic(from, to, gateway_id ?? null);
      return Response.json({ points: showPoints(points, from, to), total: showTotal(points) });
    },
  });
}
