// Creates the Exchange of a request to explain, as if the data plane had received it from a socket.
import type { Clock } from "../base/clock.ts";
import { requestTargetOf } from "../http/request-target.ts";
import { newId } from "../base/ids.ts";
import type { ExplainRequest } from "../model/explanation.ts";
import type { Snapshot } from "../snapshot/snapshot.ts";
import { Exchange } from "../proxy/exchange.ts";

/** Any host will do: only the Host header of a request decides. */
const ORIGIN = "http://localhost";

export function exchangeFor(explained: ExplainRequest, snapshot: Snapshot, clock: Clock): Exchange {
  const headers = new Headers(explained.headers);
  const body = bodyOf(explained.body);
  if (body !== null) {
    headers.set("content-length", String(body.byteLength));
    headers.delete("transfer-encoding");
    if (typeof explained.body !== "string" && !headers.has("content-type"))
      headers.set("content-type", "application/json");
  }
  // Bun does not allow a body for these methods. As in a real request, only the header fields show it.
  const hidesBody = explained.method === "GET" || explained.method === "HEAD";
  const request = new Request(ORIGIN + explained.path, {
    method: explained.method,
    headers,
    ...(body !== null && !hidesBody && { body }),
  });
  const family = explained.client_address.includes(":") ? "IPv6" : "IPv4";
  const peer = { address: explained.client_address, family, port: 0 } as const;
  const listener = { requestIP: () => peer, timeout: () => undefined };
  const exchange = new Exchange(request, listener, snapshot, newId(), requestTargetOf(request.url), clock);
  // The proxy listener serves WebSockets, but no explanation opens one.
  exchange.upgrade = () => false;
  return exchange;
}

function bodyOf(body: unknown): Uint8Array<ArrayBuffer> | null {
  if (body === undefined || body === null) return null;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}
