// Creates the Exchange of a request to explain, as if the data plane had received it from a socket.
import type { Clock } from "../base/clock.ts";
import { HeaderFields } from "../http/header-fields.ts";
import { IncomingBody, type BodyLimits } from "../http/incoming-body.ts";
import type { ClientRequest } from "../http/server/client-request.ts";
import { statelessMessage } from "../mcp/stateless-message.ts";
import { requestIdFrom } from "../base/ids.ts";
import type { ExplainRequest } from "../model/explanation.ts";
import type { Snapshot } from "../snapshot/snapshot.ts";
import { Exchange } from "../proxy/exchange.ts";

export function exchangeFor(explained: ExplainRequest, snapshot: Snapshot, clock: Clock): Exchange {
  const request = new ExplainedRequest(explained);
  return new Exchange(request, snapshot, requestIdFrom(request.headers.get("x-request-id")), clock);
}

class ExplainedRequest implements ClientRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderFields;
  readonly peerAddress: string;
  readonly isDisconnected = false;
  disconnectListener = null;
  readonly #body: Uint8Array | null;

  constructor(explained: ExplainRequest) {
    this.method = explained.method;
    this.target = explained.path;
    this.peerAddress = explained.client_address;
    const { mcp } = explained;
    const message = mcp === undefined ? null : statelessMessage(mcp.method, mcp.params);
    this.headers = HeaderFields.from({ ...message?.headers, ...explained.headers });
    this.#body = bodyOf(message?.body ?? explained.body);
    if (this.#body === null) return;
    this.headers.set("Content-Length", String(this.#body.byteLength));
    this.headers.delete("Transfer-Encoding");
    if (typeof explained.body !== "string" && !this.headers.has("content-type"))
      this.headers.set("Content-Type", "application/json");
  }

  readBody(limits: BodyLimits): IncomingBody | null {
    return this.#body === null ? null : IncomingBody.complete(this.#body, limits);
  }

  /** The proxy listener serves WebSockets, but no explanation opens one. */
  switchTo(): boolean {
    return false;
  }
}

function bodyOf(body: unknown): Uint8Array<ArrayBuffer> | null {
  if (body === undefined || body === null) return null;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}
