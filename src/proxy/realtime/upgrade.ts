// Recognizes WebSocket handshakes, and rejects those that the gateway does not serve.
import { GatehouseError } from "../../base/errors.ts";
import { matchRule, type Matched } from "../match-rule.ts";
import type { Exchange } from "../exchange.ts";

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
