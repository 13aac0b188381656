// The address a request comes from: the peer, or what a trusted proxy in front says of its own peer.
import { isIP, type BlockList } from "node:net";
import type { Listener } from "./exchange.ts";

export function clientAddress(request: Request, server: Listener, trusted: BlockList): string {
  const peer = plain(server.requestIP(request)?.address ?? "");
  if (!isTrusted(peer, trusted)) return peer;
  const chain = request.headers.get("x-forwarded-for");
  if (chain !== null) return rightmostUntrusted(chain, trusted) ?? peer;
  const real = plain(request.headers.get("x-real-ip") ?? "");
  return isIP(real) === 0 ? peer : real;
}

/** What stands left of an address that nobody vouches for could have been written by anybody. */
function rightmostUntrusted(chain: string, trusted: BlockList): string | null {
  let nearest: string | null = null;
  for (const entry of chain.split(",").reverse()) {
    const address = plain(entry.trim());
    if (isIP(address) === 0) return nearest;
    nearest = address;
    if (!isTrusted(address, trusted)) return address;
  }
  return nearest;
}

function isTrusted(address: string, trusted: BlockList): boolean {
  const family = isIP(address);
  return family !== 0 && trusted.check(address, family === 4 ? "ipv4" : "ipv6");
}

/** Without brackets and port, and IPv4 as IPv4 though it came through an IPv6 socket. */
function plain(address: string): string {
  const bare = address.replace(/^\[([^\]]+)\](?::\d+)?$/, "$1").replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, "$1");
  return bare.toLowerCase().startsWith("::ffff:") && bare.includes(".") ? bare.slice(7) : bare;
}
