// Blocks: subjects that rate_limiter rejects until they expire or an operator removes the block here.
import { GatehouseError } from "../../base/errors.ts";
import type { Blocks } from "../../runtime/blocks.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { Block } from "../../store/blocks.ts";
import type { Log } from "../../telemetry/log/log.ts";
import { boundedListQuery, isStoreOrder, pageOfAll } from "../bounded-list.ts";
import { listResponse } from "../list-query.ts";
import { addOperation, type Call, type PathParameters, type RouteTable } from "../operation.ts";
import { requireGateway } from "../write.ts";

const tag = "blocks";
const collection = "/gateways/{gateway_id}/blocks";
const SORT_FIELDS = ["subject", "type", "expires_at"] as const;
/** The number of blocks of a gateway and type is bounded, and their subjects can contain characters that PostgreSQL cannot compare. */
const ALL = { limit: Number.MAX_SAFE_INTEGER, offset: 0 };
/** Sorts a block that does not expire after those that do. */
const NEVER = "9999";
const removal = {
  method: "delete",
  tag,
  access: { role: "operator" },
  response: { status: 204, description: "Removed." },
} as const;

export function addBlockRoutes(
  table: RouteTable,
  current: CurrentConfiguration,
  blocks: Blocks,
  log: Log,
): void {
  addOperation(table, {
    method: "get",
    path: collection,
    tag,
    summary: "List the blocks of a gateway",
    access: { role: "viewer" },
    query: boundedListQuery(...SORT_FIELDS),
    response: { status: 200, schema: "BlockList", description: "Oldest first by default." },
    handle: async ({ params, query }) => {
      await requireGateway(current.store, gatewayIdIn(params));
      const list = (page: { limit: number; offset: number }) =>
        current.store.listBlocks(gatewayIdIn(params), page);
      const page = isStoreOrder(query)
        ? await list(query)
        : pageOfAll((await list(ALL)).records, query, ({ subject, type }) => [subject, type], valueOf);
      return listResponse("blocks", page.records.map(show), page.count, query);
    },
  });

  /** Blocks have no revisions, so the audit log says who removed them. */
  const remove = async ({ params, caller }: Call<unknown>, id: string | null) => {
    const gatewayId = gatewayIdIn(params);
    await requireGateway(current.store, gatewayId);
    const removed = await blocks.remove(gatewayId, id, caller.origin);
    if (removed.blocks.length === 0 && id !== null)
      throw new GatehouseError("not_found", `There is no block "${id.slice(0, 64)}".`);
    const admin = caller.identity.subject;
    log.info({ gateway_id: gatewayId, admin, removed: removed.blocks.length }, "blocks removed");
    caller.audit.export(removed.audit);
    return new Response(null, { status: 204 });
  };

  addOperation(table, {
    ...removal,
    path: `${collection}/{block_id}`,
    summary: "Remove a block and reset its counter",
    handle: (call) => remove(call, call.params["block_id"] ?? ""),
  });

  addOperation(table, {
    ...removal,
    path: collection,
    summary: "Remove all blocks of a gateway and reset their counters",
    handle: (call) => remove(call, null),
  });
}

function gatewayIdIn(params: PathParameters): string {
  return params["gateway_id"] ?? "";
}

function valueOf({ subject, type, expires_at }: Block, field: string): string {
  if (field === "subject") return subject;
  return field === "type" ? type : (expires_at ?? NEVER);
}

function show({ id, type, subject, created_at, expires_at }: Block) {
  return { id, type, subject, created_at, expires_at };
}
