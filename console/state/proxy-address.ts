// The address at which applications reach a gateway.
import type { Server } from "../api/types.ts";

/**
 * Without PUBLIC_URL, the address is derived from that of the console. Behind TLS the port is not that of clients, and the console's
 * own address serves requests as well. With BASE_DOMAIN, a gateway with a subdomain has a host of its own.
 */
export function proxyAddress(
  { public_url, proxy_port, base_domain }: Server,
  subdomain: string | null,
  { protocol, hostname, origin }: Pick<Location, "protocol" | "hostname" | "origin">,
): string {
  const shared =
    public_url ?? (protocol === "http:" && proxy_port !== null ? `http://${hostname}:${proxy_port}` : origin);
  if (base_domain === null || subdomain === null) return shared;
  const own = new URL(shared);
  own.hostname = `${subdomain}.${base_domain}`;
  return own.href.replace(/\/$/, "");
}
