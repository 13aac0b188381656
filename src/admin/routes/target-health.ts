// How the targets of an upstream are doing.
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { TargetHealthSource } from "../../runtime/target-health.ts";
import { addOperation, type RouteTable } from "../operation.ts";
import { requireChild } from "../write.ts";

export function addTargetHealthRoutes(
  table: RouteTable,
  current: CurrentConfiguration,
  source: TargetHealthSource,
): void {
  addOperation(table, {
    method: "get",
    path: "/gateways/{gateway_id}/upstreams/{upstream_id}/health",
    tag: "upstreams",
    summary: "How the targets of an upstream are doing",
    answer: {
      status: 200,
      schema: "TargetHealthList",
      description: "As this node sees them, in the order of the upstream.",
    },
    handle: async ({ params }) => {
      const gatewayId = params["gateway_id"] ?? "";
      const { id } = await requireChild(current.store, "upstreams", gatewayId, params["upstream_id"] ?? "");
      return Response.json({ targets: await source(gatewayId, id) });
    },
  });
}
