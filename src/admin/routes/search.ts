// Finds records of all kinds by a part of their names, and requests by their ids, with one bounded request.
import { z } from "zod";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { Kind, KindDeclaration, RecordOf } from "../../kinds/kind.ts";
import { KIND_NAMES, KINDS } from "../../kinds/kinds.ts";
import { redact } from "../../telemetry/log/redact.ts";
import type { RequestSource } from "../../telemetry/requests/request-log.ts";
import { mayAccessGateway, type Identity } from "../identity.ts";
import { wholeNumber } from "../list-query.ts";
import { addOperation, type RouteTable } from "../operation.ts";

const searchQuery = z.strictObject({
  q: z.string().trim().min(1).max(200).meta({
    description: "Part of a name, id, path, subdomain, or key prefix, in any case; or the id of a request.",
  }),
  limit: wholeNumber(5, 1, 20).meta({ description: "The most results of each kind." }),
});

interface SearchResult {
  /** The name of one record of its kind, or `request`. */
  readonly kind: string;
  readonly id: string;
  readonly name: string | null;
  readonly detail: string | null;
  /** Null for a request that no gateway has received, because its host belongs to none. */
  readonly gateway_id: string | null;
}

function describe(kind: Kind, record: RecordOf[Kind], detail: string | null): SearchResult {
  const { id, name } = record;
  const gateway_id = "gateway_id" in record ? record.gateway_id : id;
  return { kind: KINDS[kind].resource, id, name, detail, gateway_id };
}

export function addSearchRoutes(
  table: RouteTable,
  current: CurrentConfiguration,
  requests: RequestSource,
): void {
  addOperation(table, {
    method: "get",
    path: "/search",
    tag: "search",
    summary: "Find records by a part of their names, and requests by their ids",
    access: { role: "viewer", limited: "filtered" },
    query: searchQuery,
    response: {
      status: 200,
      schema: "SearchResultList",
      description:
        "Requests first, then gateways, upstreams, MCP servers, services, rules, virtual models, budgets, and API keys, each by name.",
    },
    handle: async ({ query: { q, limit }, caller: { identity } }) => {
      const find = async <K extends Kind>(kind: K, shown: KindDeclaration<K>["shownInSearch"]) => {
        if (shown === "hidden") return [];
        const page = { limit, offset: 0, gatewayIds: identity.gateways, sort: "name" as const };
        const { records } = await current.store.list(kind, { ...page, search: q });
        return records.map((record) => describe(kind, record, shown(record)));
      };
      const found = await Promise.all([
        findRequests(requests, identity, q, limit),
        ...KIND_NAMES.map((kind) =>
          find(kind, KINDS[kind].shownInSearch as KindDeclaration<Kind>["shownInSearch"]),
        ),
      ]);
      const results = found.flat().map((result) => ({
        ...result,
        gateway: current.snapshot.gateways.get(result.gateway_id ?? "")?.gateway.name ?? null,
      }));
      // Paths of requests are text from clients, so the response is redacted like log lines.
      return new Response(redact(JSON.stringify({ results, limit })), {
        headers: { "Content-Type": "application/json" },
      });
    },
  });
}

/** Requests are found by their complete id only: a client may choose it, so it can be any text. */
async function findRequests(
  source: RequestSource,
  identity: Identity,
  requestId: string,
  limit: number,
): Promise<readonly SearchResult[]> {
  if (!source.isOn) return [];
  const { requests } = await source.listRequests({ gatewayId: null, requestId }, limit);
  return requests.flatMap(({ request_id, method, path, status, gateway_id }) =>
    maySee(identity, gateway_id)
      ? { kind: "request", id: request_id, name: null, detail: `${status} ${method} ${path}`, gateway_id }
      : [],
  );
}

/** A request without a gateway concerns only administrators of all gateways. */
function maySee(identity: Identity, gatewayId: string | null): boolean {
  return gatewayId === null ? identity.gateways === null : mayAccessGateway(identity, gatewayId);
}
