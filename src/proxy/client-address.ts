// The address a request comes from: the peer, or what a trusted proxy in front says of its own peer.
import { isIP, type BlockList } from "node:net";
import { BoundedCache } from "../base/bounded-cache.ts";
import type { Exchange } from "./exchange.ts";

/** A peer, and whether it is believed in what it says of its own. */
interface Peer {
  readonly address: string;
  readonly isTrusted: boolean;
}

const CACHED_PEERS = 10_000;

/** Looked up once a request, however often it is asked for. */
export function createClientAddress(trusted: BlockList): (exchange: Exchange) => string {
  const peers = new BoundedCache<string, Peer>(CACHED_PEERS);
  const peerAt = (given: string): Peer => {
    let peer = peers.get(given);
    if (peer === undefined) {
      const address = plain(given);
      peer = { address, isTrusted: isTrusted(address, trusted) };
      peers.set(given, peer);
    }
    return peer;
  };
  return (exchange) => {
    const { request, server } = exchange;
    exchange.clientAddress ??= toldBy(
      peerAt(server.requestIP(request)?.address ?? ""),
      request.headers,
      trusted,
    );
    return exchange.clientAddress;
  };
}

function toldBy(peer: Peer, headers: Headers, trusted: BlockList): string {
  if (!peer.isTrusted) return peer.address;
  const chain = headers.get("x-forwarded-for");
  if (chain !== null) return rightmostUntrusted(chain, trusted) ?? peer.address;
  const told = headers.get("x-real-ip");
  const real = told === null ? "" : plain(told);
  return isIP(real) === 0 ? peer.address : real;
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

const BRACKETS = /^\[([^\]]+)\](?::\d+)?$/;
const IPV4_AND_PORT = /^(\d+\.\d+\.\d+\.\d+):\d+$/;

/** Without brackets and port, and IPv4 as IPv4 though it came through an IPv6 socket. */
function plain(address: string): string {
  const bare = address.replace(BRACKETS, "$1").replace(IPV4_AND_PORT, "$1");
  return bare.toLowerCase().startsWith("::ffff:") && bare.includes(".") ? bare.slice(7) : bare;
}
