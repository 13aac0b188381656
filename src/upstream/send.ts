// One request to a provider: sent under deadlines, until the headers of the answer are complete.
import { isForbiddenUpstream } from "./address-guard.ts";
import { markSeen, originOf, watchConnect } from "./reachability.ts";
import { UpstreamFault } from "./upstream-fault.ts";

export interface OutgoingRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array | string | null;
  /** Whether the answer's encoding is undone; otherwise its bytes come as they are. */
  readonly decompress: boolean;
}

export interface SendDeadlines {
  readonly connect: number;
  readonly first_byte: number;
}

/** Codes of a connection that stood and then broke; with any other it never stood. */
const BROKEN = new Set(["ECONNRESET", "EPIPE", "ECONNABORTED"]);

/** Rejects with an UpstreamFault. `abort` ends it from outside, before and after the headers have come. */
export async function send(
  request: OutgoingRequest,
  deadlines: SendDeadlines,
  abort: AbortController,
): Promise<Response> {
  const url = new URL(request.url);
  const forbidden = isForbiddenUpstream(url.hostname);
  if (forbidden === true || (forbidden !== false && (await forbidden))) throw new UpstreamFault("forbidden");
  const origin = originOf(url);
  const stopWatching = watchConnect(origin, deadlines.connect, () =>
    abort.abort(new UpstreamFault("connect_timeout")),
  );
  const firstByte = setTimeout(
    () => abort.abort(new UpstreamFault("first_byte_timeout")),
    deadlines.first_byte,
  );
  try {
    const response = await fetch(request.url, {
      method: request.method,
      headers: request.headers,
      body: request.body,
      redirect: "manual",
      decompress: request.decompress,
      signal: abort.signal,
      // Ours are the deadlines; a model may think for longer than the runtime waits.
      timeout: false,
    } as BunFetchRequestInit);
    markSeen(origin);
    // A status that no client knows cannot be passed on.
    if (response.status < 200 || response.status > 599) throw new UpstreamFault("invalid");
    return response;
  } catch (cause) {
    if (cause instanceof UpstreamFault) throw cause;
    if (abort.signal.aborted) throw abortReason(abort);
    const { code } = cause as { code?: unknown };
    throw new UpstreamFault(typeof code === "string" && BROKEN.has(code) ? "broken" : "unreachable", cause);
  } finally {
    stopWatching();
    clearTimeout(firstByte);
  }
}

/** Why an attempt was aborted: a deadline of ours says so itself, anything else is the client leaving. */
export function abortReason({ signal }: AbortController): UpstreamFault {
  return signal.reason instanceof UpstreamFault ? signal.reason : new UpstreamFault("client_left");
}
