// Creates the Exchange of a request to explain, as if the data plane had received it from a socket.
import type { Clock } from "../base/clock.ts";
import { HeaderFields } from "../http/header-fields.ts";
import { IncomingBody, type BodyLimits } from "../http/incoming-body.ts";
import type { ClientRequest } from "../http/server/client-request.ts";
import { newId } from "../base/ids.ts";
import type { ExplainRequest } from "../model/explanation.ts";
import type { Snapshot } from "../snapshot/snapshot.ts";
import { Exchange } from "../proxy/exchange.ts";

export function exchangeFor(explained: ExplainRequest, snapshot: Snapshot, clock: Clock): Exchange {
  return new Exchange(new ExplainedRequest(explained), snapshot, newId(), clock);
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
    this.headers = HeaderFields.from(explained.headers ?? {});
    this.#body = bodyOf(explained.body);
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
