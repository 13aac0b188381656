// Blocks: subjects that rate_limiter rejects until they expire or an operator removes the block here.
import { GatehouseError } from "../../base/errors.ts";
import type { Blocks } from "../../runtime/blocks.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { Block } from "../../store/blocks.ts";
import type { Log } from "../../telemetry/log/log.ts";
import { listResponse, pageQuery } from "../list-query.ts";
import { addOperation, type Caller, type PathParameters, type RouteTable } from "../operation.ts";
import { requireGateway } from "../write.ts";

export function addBlockRoutes(
  table: RouteTable,
  current: CurrentConfiguration,
  blocks: Blocks,
  log: Log,
): void {
  const tag = "blocks";
  const collection = "/gateways/{gateway_id}/blocks";
  const gatewayIdIn = (params: PathParameters) => params["gateway_id"] ?? "";
  // Blocks have no revisions, so the log says who removed them.
  const logRemoval = ({ subject }: Pick<Caller, "subject">, gateway_id: string, removed: readonly Block[]) =>
    log.info({ gateway_id, admin: subject, removed: removed.length }, "blocks removed");

  addOperation(table, {
    method: "get",
    path: collection,
    tag,
    summary: "List the blocks of a gateway",
    query: pageQuery,
    response: { status: 200, schema: "BlockList", description: "Oldest first." },
    handle: async ({ params, query }) => {
      await requireGateway(current.store, gatewayIdIn(params));
      const page = await current.store.listBlocks(gatewayIdIn(params), query);
      return listResponse("blocks", page.records.map(show), page.count, query);
    },
  });

  addOperation(table, {
    method: "delete",
    path: `${collection}/{block_id}`,
    tag,
    summary: "Remove a block and reset its counter",
    response: { status: 204, description: "Removed." },
    handle: async ({ params, caller }) => {
      const gatewayId = gatewayIdIn(params);
      const id = params["block_id"] ?? "";
      await requireGateway(current.store, gatewayId);
      const removed = await blocks.remove(gatewayId, id);
      if (removed.length === 0)
        throw new GatehouseError("not_found", `There is no block "${id.slice(0, 64)}".`);
      logRemoval(caller, gatewayId, removed);
      return new Response(null, { status: 204 });
    },
  });

  addOperation(table, {
    method: "delete",
    path: collection,
    tag,
    summary: "Remove all blocks of a gateway and reset their counters",
    response: { status: 204, description: "Removed." },
    handle: async ({ params, caller }) => {
      const gatewayId = gatewayIdIn(params);
      await requireGateway(current.store, gatewayId);
      logRemoval(caller, gatewayId, await blocks.remove(gatewayId, null));
      return new Response(null, { status: 204 });
    },
  });
}

function show({ id, type, subject, created_at, expires_at }: Block) {
  return { id, type, subject, created_at, expires_at };
}
