// A request that is only asked about, as the data plane would have got it from a socket.
import { requestTargetOf } from "../http/request-target.ts";
import { newId } from "../base/ids.ts";
import type { ExplainRequest } from "../model/explanation.ts";
import type { Snapshot } from "../snapshot/snapshot.ts";
import { Exchange } from "../proxy/exchange.ts";

/** The host of the URL says nothing: a request is judged by its Host header. */
const ORIGIN = "http://localhost";

export function exchangeFor(asked: ExplainRequest, snapshot: Snapshot): Exchange {
  const headers = new Headers(asked.headers);
  const body = bodyOf(asked.body);
  if (body !== null) {
    headers.set("content-length", String(body.byteLength));
    headers.delete("transfer-encoding");
    if (typeof asked.body !== "string" && !headers.has("content-type"))
      headers.set("content-type", "application/json");
  }
  // Of these methods the runtime hides a body, and so only its headers speak of it.
  const hidesBody = asked.method === "GET" || asked.method === "HEAD";
  const request = new Request(ORIGIN + asked.path, {
    method: asked.method,
    headers,
    ...(body !== null && !hidesBody && { body }),
  });
  const family = asked.client_address.includes(":") ? "IPv6" : "IPv4";
  const peer = { address: asked.client_address, family, port: 0 } as const;
  const listener = { requestIP: () => peer, timeout: () => undefined };
  return new Exchange(request, listener, snapshot, newId(), requestTargetOf(request.url));
}

function bodyOf(body: unknown): Uint8Array<ArrayBuffer> | null {
  if (body === undefined || body === null) return null;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}
