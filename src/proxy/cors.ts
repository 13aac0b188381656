// Cross-origin requests of browsers (CORS): permission for the websites that a gateway lists. Cookies are never allowed.
import { ANY_ORIGIN } from "../model/any-origin.ts";
import type { Cors } from "../model/cors.ts";
import { OutgoingResponse } from "../http/server/outgoing-response.ts";
import type { CompiledGateway } from "../snapshot/compile.ts";
import { routeKeysFor } from "../snapshot/route-table.ts";
import { ANY_ROUTE, corsKeyOf } from "../snapshot/snapshot.ts";
import type { Exchange } from "./exchange.ts";
import { isModelList } from "./list-models.ts";
import { movedRateLimitsIn } from "./token-limit-headers.ts";

/** Headers of the gateway's responses. Scripts can read only those that are listed. */
const OWN_HEADERS = [
  "X-Request-Id",
  "Request-Id",
  "X-GW-Provider",
  "X-GW-Provider-Request-Id",
  "X-GW-Model",
  "X-GW-Attempts",
  "X-GW-Budget-Remaining",
  "X-GW-Estimated",
  "X-GW-Translated",
  "Server-Timing",
  "Retry-After",
  "X-Should-Retry",
];

/** MCP clients repeat it in every request of the session. */
const MCP_HEADERS = ["Mcp-Session-Id"];

/** The provider's permissions, which those of the gateway replace. */
const PERMISSIONS = [
  "access-control-allow-origin",
  "access-control-allow-credentials",
  "access-control-expose-headers",
];
const MAX_AGE = "access-control-max-age";

/** Browsers send far less. */
const MAX_REQUESTED_HEADERS = 4096;

/**
 * Returns the response to a preflight request, which has no API key, or null if the request is none or no gateway allows it. It succeeds if
 * any gateway that the request may belong to allows the origin. `hostGateway` is the gateway that the Host names, or null.
 */
export function preflightResponse(
  exchange: Exchange,
  hostGateway: CompiledGateway | null,
): OutgoingResponse | null {
  const { headers } = exchange.request;
  const origin = headers.get("origin");
  const method = headers.get("access-control-request-method");
  if (origin === null || method === null) return null;
  const cors = allowingCors(exchange, hostGateway, origin, method);
  if (cors === null) return null;
  const requested = headers.get("access-control-request-headers") ?? "";
  const allowed = cors.headers === null ? requested.slice(0, MAX_REQUESTED_HEADERS) : cors.headers.join(", ");
  return new OutgoingResponse(null, {
    status: 204,
    headers: {
      "Access-Control-Allow-Origin": allowedOrigin(cors, origin),
      "Access-Control-Allow-Methods": method,
      ...(allowed !== "" && { "Access-Control-Allow-Headers": allowed }),
      [MAX_AGE]: String(cors.max_age),
      Vary: "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
      "X-Request-Id": exchange.requestId,
    },
  });
}

/** Lets a script of an allowed website read the response, also if it is an error. */
export function addCorsHeaders({ headers }: OutgoingResponse, exchange: Exchange): void {
  // A gateway without `cors` relays what the provider allows. A preflight response is complete.
  if (exchange.gateway?.gateway.cors === null || headers.has(MAX_AGE)) return;
  for (const name of PERMISSIONS) headers.delete(name);
  headers.append("Vary", "Origin");
  const origin = exchange.request.headers.get("origin");
  if (origin === null) return;
  const cors = allowingCors(exchange, exchange.gateway, origin, exchange.method);
  if (cors === null) return;
  headers.set("Access-Control-Allow-Origin", allowedOrigin(cors, origin));
  const hasTokenLimit = exchange.tokenLimit !== null;
  const moved = hasTokenLimit ? movedRateLimitsIn(headers) : [];
  const isMcp = exchange.rule !== null && exchange.rule.mcp !== null;
  const own = [...OWN_HEADERS, ...(isMcp ? MCP_HEADERS : []), ...exchange.ownHeaders.names(hasTokenLimit)];
  headers.set("Access-Control-Expose-Headers", [...own, ...moved].join(", "));
}

function allowedOrigin(cors: Cors, origin: string): string {
  return cors.origins.includes(ANY_ORIGIN) ? ANY_ORIGIN : origin;
}

/** Returns the setting that allows the origin: of the gateway if it is known, else of any gateway that may serve the request. */
function allowingCors(
  { snapshot, path }: Exchange,
  gateway: CompiledGateway | null,
  origin: string,
  method: string,
): Cors | null {
  const known = gateway ?? snapshot.onlyGateway;
  if (known !== null) return corsFor(known, origin);
  for (const routeKey of routeKeysFor(path, method, snapshot.patternDepth)) {
    for (const allowed of [origin, ANY_ORIGIN]) {
      const gateways = snapshot.gatewaysByCors.get(corsKeyOf(allowed, routeKey));
      for (const each of gateways?.values() ?? [])
        if (each.routes.candidates(path).some(({ methods }) => methods.has(method)))
          return corsFor(each, origin);
    }
  }
  if (!isModelList(path, method)) return null;
  for (const allowed of [origin, ANY_ORIGIN]) {
    const [first = null] = snapshot.gatewaysByCors.get(corsKeyOf(allowed, ANY_ROUTE))?.values() ?? [];
    if (first !== null) return corsFor(first, origin);
  }
  return null;
}

/** Returns the gateway's `cors` if it allows the origin, else null. */
export function corsFor({ gateway: { cors } }: CompiledGateway, origin: string): Cors | null {
  return cors !== null && (cors.origins.includes(origin) || cors.origins.includes(ANY_ORIGIN)) ? cors : null;
}
