// The client's address: that of the TCP peer, or the one that a trusted proxy in front reports.
import { isIP, type BlockList } from "node:net";
import { BoundedCache } from "../base/bounded-cache.ts";
import { canonicalAddress } from "../base/ip-address.ts";
import type { Exchange } from "./exchange.ts";

interface Peer {
  readonly address: string;
  /** Its X-Forwarded-For and X-Real-IP are used. */
  readonly isTrusted: boolean;
}

const CACHED_PEERS = 10_000;

/** The returned function computes the address once per request. */
export function createClientAddress(trusted: BlockList): (exchange: Exchange) => string {
  const peers = new BoundedCache<string, Peer>(CACHED_PEERS);
  const peerAt = (peerAddress: string): Peer => {
    let peer = peers.get(peerAddress);
    if (peer === undefined) {
      const address = normalize(peerAddress);
      peer = { address, isTrusted: isTrusted(address, trusted) };
      peers.set(peerAddress, peer);
    }
    return peer;
  };
  return (exchange) => {
    const { request, server } = exchange;
    const { clientAddress } = exchange;
    if (clientAddress !== null) return clientAddress;
    const peer = peerAt(server.requestIP(request)?.address ?? "");
    return (exchange.clientAddress = peer.isTrusted
      ? forwardedAddress(peer.address, request.headers, trusted)
      : peer.address);
  };
}

/** Returns the address that a trusted proxy reports, or its own if it reports none. */
function forwardedAddress(proxyAddress: string, headers: Headers, trusted: BlockList): string {
  const chain = headers.get("x-forwarded-for");
  if (chain !== null) return rightmostUntrusted(chain, trusted) ?? proxyAddress;
  const realIp = normalize(headers.get("x-real-ip") ?? "");
  return isIP(realIp) === 0 ? proxyAddress : realIp;
}

/** Entries to the left of an untrusted address are ignored: that client may have written anything. */
function rightmostUntrusted(chain: string, trusted: BlockList): string | null {
  let nearest: string | null = null;
  for (const entry of chain.split(",").reverse()) {
    const address = normalize(entry.trim());
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

/** Removes brackets and port, and returns the canonical spelling. */
function normalize(address: string): string {
  return canonicalAddress(address.replace(BRACKETS, "$1").replace(IPV4_AND_PORT, "$1"));
}
