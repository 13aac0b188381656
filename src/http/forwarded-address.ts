// The address that a client has according to the proxies in front of the gateway.
import type { ReadableFields } from "../base/readable-fields.ts";
import { isIP, type BlockList } from "node:net";
import { canonicalAddress } from "../base/ip-address.ts";

/** Returns the address of the client: that of the TCP peer, or the one that a trusted proxy reports. */
export function clientAddressOf(peerAddress: string, headers: ReadableFields, trusted: BlockList): string {
  const address = normalizeAddress(peerAddress);
  return isTrustedAddress(address, trusted) ? forwardedAddress(address, headers, trusted) : address;
}

/** Returns the address that a trusted proxy reports, or its own if it reports none. */
export function forwardedAddress(proxyAddress: string, headers: ReadableFields, trusted: BlockList): string {
  const chain = headers.get("x-forwarded-for");
  if (chain !== null) return rightmostUntrusted(chain, trusted) ?? proxyAddress;
  const reported = headers.get("x-real-ip");
  if (reported === null) return proxyAddress;
  const realIp = normalizeAddress(reported);
  return isIP(realIp) === 0 ? proxyAddress : realIp;
}

/** Entries to the left of an untrusted address are ignored: that client may have written anything. */
function rightmostUntrusted(chain: string, trusted: BlockList): string | null {
  let nearest: string | null = null;
  for (const entry of chain.split(",").reverse()) {
    const address = normalizeAddress(entry.trim());
    if (isIP(address) === 0) return nearest;
    nearest = address;
    if (!isTrustedAddress(address, trusted)) return address;
  }
  return nearest;
}

export function isTrustedAddress(address: string, trusted: BlockList): boolean {
  const family = isIP(address);
  return family !== 0 && trusted.check(address, family === 4 ? "ipv4" : "ipv6");
}

const BRACKETS = /^\[([^\]]+)\](?::\d+)?$/;
const IPV4_AND_PORT = /^(\d+\.\d+\.\d+\.\d+):\d+$/;

/** Removes brackets and port, and returns the canonical spelling. */
export function normalizeAddress(address: string): string {
  return canonicalAddress(address.replace(BRACKETS, "$1").replace(IPV4_AND_PORT, "$1"));
}
