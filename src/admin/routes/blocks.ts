// Blocks: whom rate_limiter refuses for good, until an operator lifts it here.
import { GatehouseError } from "../../base/errors.ts";
import type { Counters } from "../../counters/counters.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { StoredBlock } from "../../store/store.ts";
import { listResponse, pageQuery } from "../list-query.ts";
import { addOperation, type Caller, type RouteTable } from "../operation.ts";
import { requireChild, requireGateway, writeRecord } from "../write.ts";

const PAGE = 1000;

export function addBlockRoutes(table: RouteTable, current: CurrentConfiguration, counters: Counters): void {
  const tag = "blocks";
  const collection = "/gateways/{gateway_id}/blocks";
  const gatewayOf = (params: Readonly<Record<string, string>>) => params["gateway_id"] ?? "";
  const lift = async (caller: Caller, gatewayId: string, blockId: string) => {
    const block = await writeRecord(current, caller, async (transaction) => {
      const found = await requireChild(transaction, "blocks", gatewayId, blockId);
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
    answer: { status: 200, schema: "BlockList", description: "Oldest first." },
    handle: async ({ params, query }) => {
      await requireGateway(current.store, gatewayOf(params));
      const page = await current.store.list("blocks", { gatewayId: gatewayOf(params), ...query });
      return listResponse("blocks", page.records.map(shown), page.count, query);
    },
  });

  addOperation(table, {
    method: "delete",
    path: `${collection}/{block_id}`,
    tag,
    summary: "Lift a block and clear its count",
    answer: { status: 204, description: "Lifted." },
    handle: async ({ params, caller }) => {
      await lift(caller, gatewayOf(params), params["block_id"] ?? "");
      return new Response(null, { status: 204 });
    },
  });

  addOperation(table, {
    method: "delete",
    path: collection,
    tag,
    summary: "Lift every block of a gateway",
    answer: { status: 204, description: "Lifted." },
    handle: async ({ params, caller }) => {
      const gatewayId = gatewayOf(params);
      await requireGateway(current.store, gatewayId);
      for (;;) {
        const { records } = await current.store.list("blocks", { gatewayId, limit: PAGE, offset: 0 });
        for (const { id } of records) await lift(caller, gatewayId, id).catch(ignoreGone);
        if (records.length < PAGE) return new Response(null, { status: 204 });
      }
    },
  });
}

/** Somebody else lifted it meanwhile, which is what was asked for. */
function ignoreGone(error: unknown): void {
  if (!(error instanceof GatehouseError) || error.code !== "not_found") throw error;
}

function shown({
  id,
  type,
  subject,
  created_at,
}: StoredBlock): Pick<StoredBlock, "id" | "type" | "subject" | "created_at"> {
  return { id, type, subject, created_at };
}
