// Finds records of all kinds by a part of their names, and requests by their ids, with one bounded request.
import { z } from "zod";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { Kind, RecordOf } from "../../store/store.ts";
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
  readonly kind:
    "gateway" | "upstream" | "mcp_server" | "service" | "rule" | "model" | "budget" | "api_key" | "request";
  readonly id: string;
  readonly name: string | null;
  readonly detail: string | null;
  /** Null for a request that no gateway has received, because its host belongs to none. */
  readonly gateway_id: string | null;
}

type Describe<K extends Kind> = (record: RecordOf[K]) => SearchResult;

/** Game days are not found here: only owners may read them. */
const DESCRIPTIONS: { readonly [K in Exclude<Kind, "game_days">]: Describe<K> } = {
  gateways: ({ id, name, subdomain }) => ({ kind: "gateway", id, name, detail: subdomain, gateway_id: id }),
  upstreams: ({ id, name, gateway_id }) => ({ kind: "upstream", id, name, detail: null, gateway_id }),
  mcp_servers: ({ id, name, url, gateway_id }) => ({ kind: "mcp_server", id, name, detail: url, gateway_id }),
  services: ({ id, name, gateway_id }) => ({ kind: "service", id, name, detail: null, gateway_id }),
  rules: ({ id, name, path, gateway_id }) => ({ kind: "rule", id, name, detail: path, gateway_id }),
  models: ({ id, name, gateway_id }) => ({ kind: "model", id, name, detail: null, gateway_id }),
  budgets: ({ id, name, gateway_id }) => ({ kind: "budget", id, name, detail: null, gateway_id }),
  api_keys: ({ id, name, prefix, gateway_id }) => ({
    kind: "api_key",
    id,
    name,
    detail: prefix,
    gateway_id,
  }),
};

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
      const find = async <K extends Kind>(kind: K, describe: Describe<K>) => {
        const page = { limit, offset: 0, gatewayIds: identity.gateways, sort: "name" as const };
        return (await current.store.list(kind, { ...page, search: q })).records.map(describe);
      };
      const found = await Promise.all([
        findRequests(requests, identity, q, limit),
        find("gateways", DESCRIPTIONS.gateways),
        find("upstreams", DESCRIPTIONS.upstreams),
        find("mcp_servers", DESCRIPTIONS.mcp_servers),
        find("services", DESCRIPTIONS.services),
        find("rules", DESCRIPTIONS.rules),
        find("models", DESCRIPTIONS.models),
        find("budgets", DESCRIPTIONS.budgets),
        find("api_keys", DESCRIPTIONS.api_keys),
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
