// The kept responses of a gateway: how often they served requests, what they saved, and their removal.
import { GatehouseError } from "../../base/errors.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { ResponseCounts } from "../../runtime/responses/response-stores.ts";
import type { ResponseAdministration } from "../../runtime/responses/share-responses.ts";
import { addOperation, type RouteTable } from "../operation.ts";
import { requireGateway } from "../write.ts";

const tag = "cache";
const path = "/gateways/{gateway_id}/cache";
const NANOS_PER_DOLLAR = 1e9;

export function addCacheRoutes(
  table: RouteTable,
  current: CurrentConfiguration,
  responses: ResponseAdministration,
): void {
  addOperation(table, {
    method: "get",
    path,
    tag,
    summary: "Show how often kept responses served requests of a gateway",
    access: { role: "viewer" },
    response: {
      status: 200,
      schema: "CacheState",
      description: "Counted by the processes of this node since they started.",
    },
    handle: async ({ params }) => {
      const gatewayId = params["gateway_id"] ?? "";
      await requireGateway(current.store, gatewayId);
      return Response.json(show(await responses.countsOf(gatewayId)));
    },
  });

  addOperation(table, {
    method: "delete",
    path,
    tag,
    summary: "Remove all kept responses of a gateway",
    access: { role: "operator" },
    response: { status: 204, description: "Removed." },
    handle: async ({ params, caller }) => {
      const gatewayId = params["gateway_id"] ?? "";
      await requireGateway(current.store, gatewayId);
      const removed = await purge(responses, gatewayId);
      await caller.audit.record({
        ...caller.origin,
        action: "delete",
        resource: "cache",
        resource_id: null,
        gateway_id: gatewayId,
        name: null,
        revision: null,
        details: { responses: removed },
      });
      return new Response(null, { status: 204 });
    },
  });
}

async function purge(responses: ResponseAdministration, gatewayId: string): Promise<number> {
  try {
    return await responses.purge(gatewayId);
  } catch (cause) {
    throw new GatehouseError(
      "counters_unavailable",
      "The kept responses were not removed, because Redis is unavailable. Retry later.",
      { cause, headers: { "Retry-After": "1" } },
    );
  }
}

function show({ saved_nanos, ...counts }: ResponseCounts) {
  const { hits, coalesced, misses, unpriced_requests: unpriced } = counts;
  const served = hits + coalesced;
  return {
    ...counts,
    hit_ratio: served + misses === 0 ? null : served / (served + misses),
    saved_cost: served > 0 && unpriced >= served ? null : saved_nanos / NANOS_PER_DOLLAR,
  };
}
