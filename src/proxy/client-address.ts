// The client's address: that of the TCP peer, or the one that a trusted proxy in front reports.
import type { BlockList } from "node:net";
import { BoundedCache } from "../base/bounded-cache.ts";
import { forwardedAddress, isTrustedAddress, normalizeAddress } from "../http/forwarded-address.ts";
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
      const address = normalizeAddress(peerAddress);
      peer = { address, isTrusted: isTrustedAddress(address, trusted) };
      peers.set(peerAddress, peer);
    }
    return peer;
  };
  return (exchange) => {
    const { request } = exchange;
    const { clientAddress } = exchange;
    if (clientAddress !== null) return clientAddress;
    const peer = peerAt(request.peerAddress);
    return (exchange.clientAddress = peer.isTrusted
      ? forwardedAddress(peer.address, request.headers, trusted)
      : peer.address);
  };
}
