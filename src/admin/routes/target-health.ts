// Health of the targets of an upstream.
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { TargetHealthSource } from "../../runtime/target-health.ts";
import { addOperation, type RouteTable } from "../operation.ts";
import { requireRecord } from "../write.ts";

export function addTargetHealthRoutes(
  table: RouteTable,
  current: CurrentConfiguration,
  source: TargetHealthSource,
): void {
  addOperation(table, {
    method: "get",
    path: "/gateways/{gateway_id}/upstreams/{upstream_id}/health",
    tag: "upstreams",
    summary: "Get the health of the targets of an upstream",
    access: { role: "viewer" },
    response: {
      status: 200,
      schema: "TargetHealthList",
      description: "As seen by this node, in the order of the upstream's targets.",
    },
    handle: async ({ params }) => {
      const gatewayId = params["gateway_id"] ?? "";
      const { id } = await requireRecord(current.store, "upstreams", params["upstream_id"] ?? "", gatewayId);
      return Response.json({ targets: await source.ofUpstream(gatewayId, id) });
    },
  });
}
