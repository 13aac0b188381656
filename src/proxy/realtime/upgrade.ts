// Recognizes WebSocket handshakes, and rejects those that the gateway does not serve.
import { GatehouseError } from "../../base/errors.ts";
import { corsFor } from "../cors.ts";
import type { Exchange } from "../exchange.ts";
import { matchRule, type Matched } from "../match-rule.ts";

/** The end of the paths that serve WebSockets. */
export const REALTIME = "/realtime";

/**
 * Whether the client requests a WebSocket. `Upgrade` is a list of protocols, each with an optional version (RFC 9110, section
 * 7.8). `Connection` is not read: a proxy in front of the gateway may have replaced it, and a request that names WebSocket must
 * never be forwarded as a plain GET. Other methods than GET cannot start a WebSocket (RFC 6455, section 4.1).
 */
export function requestsWebSocket({ method, request }: Exchange): boolean {
  if (method !== "GET") return false;
  const upgrade = request.headers.get("upgrade");
  return upgrade !== null && upgrade.split(",").some(isWebSocket);
}

function isWebSocket(protocol: string): boolean {
  return protocol.split("/")[0]?.trim().toLowerCase() === "websocket";
}

/** Whether the request is for a realtime endpoint of a listener that serves WebSockets, and a rule matches it. */
export function servesWebSocket(exchange: Exchange): boolean {
  if (exchange.request.switchTo === undefined || !exchange.path.endsWith(REALTIME)) return false;
  try {
    matchRule(exchange, exchange.gateway);
    return true;
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    // Any other error says what the client can do about it.
    return error.code !== "rule_not_found" && error.code !== "method_not_allowed";
  }
}

/**
 * Throws if a website that the gateway's `cors` does not allow opens a WebSocket without an API key: browsers do not ask the
 * gateway before they do so, and its script could use the network position of the user. A key is the script's own.
 */
export function rejectForeignOrigin({ request, apiKey, gateway }: Exchange): void {
  const origin = request.headers.get("origin");
  if (origin === null || apiKey !== null || gateway === null || corsFor(gateway, origin) !== null) return;
  throw new GatehouseError(
    "cross_site_request",
    `WebSockets of ${origin.slice(0, 100)} need an API key, or the origin must be listed in cors of the gateway.`,
    { headers: { Connection: "close" } },
  );
}

/**
 * Finds the rule whose `error_format` applies to the error. Clients that fall back to HTTP then send POST to the same path, so
 * a rule for POST counts as well. Returns null if there is none.
 */
export function ruleForRejection({ path, request, snapshot, gateway }: Exchange): Matched | null {
  for (const method of ["GET", "POST"]) {
    try {
      return matchRule({ path, request, snapshot, method }, gateway);
    } catch (error) {
      if (!(error instanceof GatehouseError)) throw error;
    }
  }
  return null;
}

/** RFC 9110, section 15.5.22: a 426 names the protocol to use. */
export function upgradeRequired(): GatehouseError {
  return new GatehouseError(
    "websocket_not_supported",
    "This path does not serve WebSockets. Send an HTTP request without Upgrade.",
    { headers: { Connection: "close, Upgrade", Upgrade: "HTTP/1.1" } },
  );
}
