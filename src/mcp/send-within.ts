// A request of which the whole exchange is bounded in time. `timeoutMs` of a request bounds only each silence of the server, which may send a
// byte now and then for hours.
import { withTimeout } from "../base/with-timeout.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import type { RpcResponse } from "./json-rpc.ts";
import type { ServerCallParts } from "./server-call.ts";
import { sendRequest, type LinkRequest, type ServerLink } from "./server-link.ts";

/** Sends a request, and closes its connection if there is no response after `timeoutMs` of the request. Rejects as `sendRequest` does. */
export function sendWithin(
  link: ServerLink,
  request: LinkRequest,
  parts: ServerCallParts,
): Promise<RpcResponse | null> {
  const aborted = new AbortController();
  const { timeoutMs } = request;
  const signal = request.signal === null ? aborted.signal : AbortSignal.any([request.signal, aborted.signal]);
  const timeout = () => {
    aborted.abort();
    return new UpstreamError("first_byte_timeout");
  };
  return withTimeout(timeoutMs, sendRequest(link, { ...request, signal }, parts), timeout, parts.clock);
}
