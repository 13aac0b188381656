// Sends a request and injects one fault of a game day, so that the attempt sees what a provider with this problem sends.
import { providerErrorBody } from "../../formats/provider-errors.ts";
import { HeaderFields } from "../../http/header-fields.ts";
import type { OutgoingRequest } from "../outgoing-request.ts";
import type { SendTimeouts, UpstreamClient } from "../upstream-client.ts";
import { UpstreamError } from "../upstream-error.ts";
import { UpstreamResponse, type ResponseSource } from "../upstream-response.ts";
import type { FaultyClientParts } from "./faulty-client-parts.ts";
import { FaultyTransfer } from "./faulty-transfer.ts";

/** The source of a response that is complete from the start. */
const NO_SOURCE: ResponseSource = {
  holdsBody: false,
  pause: () => undefined,
  resume: () => undefined,
  cancel: () => undefined,
};

export class FaultyClient implements UpstreamClient {
  readonly #parts: FaultyClientParts;

  constructor(parts: FaultyClientParts) {
    this.#parts = parts;
  }

  send(request: OutgoingRequest, timeouts: SendTimeouts, now: number): UpstreamResponse {
    const { deadlines, fault, format, wantsStream } = this.#parts;
    const response = new UpstreamResponse(deadlines, now, timeouts.connect, timeouts.first_byte);
    if (fault.type === "refuse")
      response.onError(new UpstreamError("unreachable", new Error("refused by a game day")));
    else if (fault.type === "status") {
      const status = fault.status ?? 500;
      const headers = HeaderFields.from({ "content-type": "application/json" });
      if (fault.retry_after !== null) headers.add("retry-after", String(fault.retry_after));
      respond(response, status, headers, Buffer.from(providerErrorBody(format, status)));
    } else if (fault.type === "empty") {
      const type = wantsStream ? "text/event-stream; charset=utf-8" : "application/json";
      respond(response, 200, HeaderFields.from({ "content-type": type }), new Uint8Array(0));
    } else void new FaultyTransfer(this.#parts, request, timeouts, response).run();
    return response;
  }
}

function respond(response: UpstreamResponse, status: number, headers: HeaderFields, body: Uint8Array): void {
  headers.add("content-length", String(body.byteLength));
  response.onSent(NO_SOURCE);
  response.onHeaders({ status, headers, framing: body.byteLength, isKeepAlive: true });
  if (body.byteLength > 0) response.onBody(body);
  response.onEnd();
}
