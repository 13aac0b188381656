// Blocks: subjects that rate_limiter rejects until an operator removes the block here.
import { GatehouseError } from "../../base/errors.ts";
import type { Counters } from "../../counters/counters.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { StoredBlock } from "../../store/store.ts";
import { listResponse, pageQuery } from "../list-query.ts";
import { addOperation, type Caller, type PathParameters, type RouteTable } from "../operation.ts";
import { requireGateway, requireRecord, writeRecord } from "../write.ts";

const PAGE = 1000;

export function addBlockRoutes(table: RouteTable, current: CurrentConfiguration, counters: Counters): void {
  const tag = "blocks";
  const collection = "/gateways/{gateway_id}/blocks";
  const gatewayIdIn = (params: PathParameters) => params["gateway_id"] ?? "";
  const remove = async (caller: Caller, gatewayId: string, blockId: string) => {
    const block = await writeRecord(current, caller, async (transaction) => {
      const found = await requireRecord(transaction, "blocks", blockId, gatewayId);
      await transaction.remove("blocks", found.id);
      return found;
    });
    await counters.clear(block.counter_key);
  };

  addOperation(table, {
    method: "get",
    path: collection,
    tag,
    summary: "List the blocks of a gateway",
    query: pageQuery,
    response: { status: 200, schema: "BlockList", description: "Oldest first." },
    handle: async ({ params, query }) => {
      await requireGateway(current.store, gatewayIdIn(params));
      const page = await current.store.list("blocks", { gatewayId: gatewayIdIn(params), ...query });
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
      await remove(caller, gatewayIdIn(params), params["block_id"] ?? "");
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
      for (;;) {
        const { records } = await current.store.list("blocks", { gatewayId, limit: PAGE, offset: 0 });
        for (const { id } of records) await remove(caller, gatewayId, id).catch(ignoreNotFound);
        if (records.length < PAGE) return new Response(null, { status: 204 });
      }
    },
  });
}

/** Another request may have removed the block in the meantime. */
function ignoreNotFound(error: unknown): void {
  if (!(error instanceof GatehouseError) || error.code !== "not_found") throw error;
}

function show({ id, type, subject, created_at }: StoredBlock) {
  return { id, type, subject, created_at };
}
