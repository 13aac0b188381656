// Finds the gateway of a request by its API key or its Host header.
import { isIP } from "node:net";
import type { Clock } from "../base/clock.ts";
import { GatehouseError } from "../base/errors.ts";
import { hashApiKey, looksLikeApiKey } from "../base/ids.ts";
import type { CompiledApiKey, CompiledGateway } from "../snapshot/compile.ts";
import type { Exchange } from "./exchange.ts";
import { differentKeys, sentApiKey, withoutApiKey } from "./sent-api-key.ts";

/**
 * Returns null if neither the key nor the Host identifies a gateway; then the rules of all gateways are tried. `assumedKeyId` is the
 * API key of an explained request that does not contain the key itself.
 */
export function resolveGateway(
  exchange: Exchange,
  baseDomain: string | null,
  assumedKeyId: string | null = null,
): CompiledGateway | null {
  const { request, handshake } = exchange;
  const sentKey = sentApiKey(request.headers, exchange.query, handshake?.apiKeys);
  if (sentKey === null && assumedKeyId === null) return gatewayOfHost(exchange, baseDomain);
  if (exchange.query !== "") exchange.sentQuery = withoutApiKey(exchange.query);
  const key = sentKey === null ? null : findKey(exchange, sentKey);
  if (assumedKeyId === null) return useKey(exchange, key);
  if (sentKey !== null && key?.id !== assumedKeyId) throw differentKeys();
  return useKey(exchange, assumedKey(exchange, assumedKeyId));
}

function useKey(exchange: Exchange, key: CompiledApiKey | null): CompiledGateway {
  const gateway = key === null ? undefined : exchange.snapshot.gateways.get(key.gatewayId);
  if (gateway === undefined)
    throw new GatehouseError("invalid_api_key", "The API key is unknown, expired or revoked.");
  exchange.apiKey = key;
  return gateway;
}

function assumedKey({ snapshot, clock }: Exchange, id: string): CompiledApiKey | null {
  const key = snapshot.apiKeysById.get(id);
  return key === undefined ? null : unlessExpired(clock, key);
}

/** Returns the gateway whose subdomain the Host names, or null. */
export function gatewayOfHost(
  { snapshot, request }: Exchange,
  baseDomain: string | null,
): CompiledGateway | null {
  // Skips parsing the Host on nodes without subdomains, which are most.
  if (snapshot.gatewaysBySubdomain.size === 0) return null;
  const subdomain = subdomainOf(request.headers.get("host"), baseDomain);
  return subdomain === null ? null : (snapshot.gatewaysBySubdomain.get(subdomain) ?? null);
}

function findKey({ snapshot, clock }: Exchange, sentKey: string): CompiledApiKey | null {
  if (!looksLikeApiKey(sentKey)) return null;
  const key = snapshot.apiKeysByHash.get(hashApiKey(sentKey));
  return key === undefined ? null : unlessExpired(clock, key);
}

function unlessExpired(clock: Clock, key: CompiledApiKey): CompiledApiKey | null {
  // Most keys never expire, and then the clock is not read.
  return key.expiresAt !== Infinity && key.expiresAt <= clock.unixNow() ? null : key;
}

function subdomainOf(host: string | null, baseDomain: string | null): string | null {
  if (host === null || host.startsWith("[")) return null;
  const name = host.replace(/:\d+$/, "").replace(/\.$/, "").toLowerCase();
  if (baseDomain === null) return isIP(name) === 0 ? (name.split(".")[0] ?? null) : null;
  if (!name.endsWith(`.${baseDomain}`)) return null;
  return name.slice(0, -baseDomain.length - 1);
}
