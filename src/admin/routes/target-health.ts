// How the targets of an upstream are doing.
import type { CurrentConfiguration } from "../../snapshot/current.ts";
import { targetHealth } from "../../snapshot/target-health.ts";
import { addOperation, type RouteTable } from "../operation.ts";
import { requireChild } from "../write.ts";

export function addTargetHealthRoutes(table: RouteTable, current: CurrentConfiguration): void {
  addOperation(table, {
    method: "get",
    path: "/gateways/{gateway_id}/upstreams/{upstream_id}/health",
    tag: "upstreams",
    summary: "How the targets of an upstream are doing",
    answer: {
      status: 200,
      schema: "TargetHealthList",
      description: "As this process sees them, in the order of the upstream.",
    },
    handle: async ({ params }) => {
      const gatewayId = params["gateway_id"] ?? "";
      const { id } = await requireChild(current.store, "upstreams", gatewayId, params["upstream_id"] ?? "");
      // Another node may have made it a moment ago, or it does not compile here: then there is nothing to tell.
      const upstream = current.snapshot.gateways.get(gatewayId)?.upstreams.find((each) => each.id === id);
      return Response.json({ targets: upstream === undefined ? [] : targetHealth(upstream) });
    },
  });
}
