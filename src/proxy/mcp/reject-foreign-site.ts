// Keeps scripts of other websites from MCP servers that only the user can reach: they are sent with the Origin of the website, or, if its name
// leads to this address (DNS rebinding), with a Host that is not one of this gateway.
import { GatehouseError } from "../../base/errors.ts";
import { isLoopback } from "../../config/loopback.ts";
import { normalizeAddress } from "../../http/forwarded-address.ts";
import type { ClientRequest } from "../../http/server/client-request.ts";
import { corsFor } from "../cors.ts";
import type { Exchange } from "../exchange.ts";
import type { ResourceParts } from "./resource-metadata.ts";

/** Origins of websites on this machine, as browsers write them: without the default port. */
const LOCAL_ORIGIN = /^http(s?):\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::(\d+))?$/;

export function rejectForeignSite(exchange: Exchange, parts: ResourceParts): void {
  const { request, gateway } = exchange;
  if (!mayHaveHost(request, parts))
    throw new GatehouseError(
      "cross_site_request",
      `The Host ${shown(request, "host")} is not a name of this machine. Set PUBLIC_URL or BASE_DOMAIN if clients use it.`,
    );
  const origin = request.headers.get("origin");
  if (origin === null || gateway === null || corsFor(gateway, origin) !== null) return;
  // Never compared with the Host: with DNS rebinding any website has the origin that its Host names.
  if (origin === originOf(parts) || isLocalOrigin(origin, request)) return;
  throw new GatehouseError(
    "cross_site_request",
    `The origin ${shown(request, "origin")} is not listed in cors.origins of the gateway, and is not that of PUBLIC_URL.`,
  );
}

/** Only a listener that no other machine can reach knows all names that it has. */
function mayHaveHost(
  { headers, listener }: ClientRequest,
  { publicUrl, baseDomain }: ResourceParts,
): boolean {
  const host = headers.get("host");
  if (host === null || !isLocal(listener)) return true;
  const name = hostnameOf(`http://${host}`);
  if (isLoopback(name) || (publicUrl !== null && name === hostnameOf(publicUrl))) return true;
  return baseDomain !== null && `.${name}`.endsWith(`.${baseDomain}`);
}

function isLocalOrigin(origin: string, { listener, peerAddress }: ClientRequest): boolean {
  const match = LOCAL_ORIGIN.exec(origin);
  if (match === null || !isLocal(listener) || !isLoopback(normalizeAddress(peerAddress))) return false;
  const [, secure, port = secure === "" ? "80" : "443"] = match;
  return port === String(listener.port);
}

function isLocal(listener: ClientRequest["listener"]): listener is NonNullable<ClientRequest["listener"]> {
  return listener !== undefined && listener !== null && isLoopback(listener.hostname);
}

function originOf({ publicUrl }: ResourceParts): string | null {
  return publicUrl === null ? null : new URL(publicUrl).origin;
}

function hostnameOf(url: string): string {
  return new URL(url).hostname.replaceAll(/[[\]]|\.$/g, "");
}

function shown({ headers }: ClientRequest, name: string): string {
  return (headers.get(name) ?? "").slice(0, 100);
}
