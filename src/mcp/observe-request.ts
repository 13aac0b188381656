// What telemetry learns about a request of a client: the server that serves it, and every request to a server.
import type { RpcResponse } from "./json-rpc.ts";
import { metaOf, textOf } from "./json-rpc.ts";
import type { ServerList } from "./list-cache.ts";
import type { ListMethod } from "./protocol.ts";
import type { ServerCallParts } from "./server-call.ts";
import { sendRequest, type LinkRequest, type ServerLink } from "./server-link.ts";
import type { McpServerTarget } from "./server-target.ts";

/** Follows one request to a server. */
interface CallObserver {
  /** The trace context for the server, as header fields. */
  readonly headers: Readonly<Record<string, string>>;
  /** The same in `_meta`, where OpenTelemetry's MCP conventions expect it; null leaves the client's own. */
  readonly meta: Readonly<Record<string, string>> | null;
  ended(response: RpcResponse | null): void;
  failed(error: unknown): void;
}

/** Follows one request of a client. */
export interface RequestObserver {
  /** The server that the request is for; it offers what the request names. */
  found(server: McpServerTarget): void;
  /** Called before a request is sent to a server. `target` is the tool or prompt, by the name that the server uses. */
  begin(link: ServerLink, method: string, target: string | null): CallObserver;
  /** The server is left out, because it did not respond. */
  silent(server: McpServerTarget, method: string): void;
  /** A plugin refused a message of the server, or its part of a merged result. The rest of the request is served. */
  refused(server: McpServerTarget, method: string, code: string): void;
  listed(server: McpServerTarget, method: ListMethod, list: ServerList): void;
}

/** As `sendRequest`. */
export function sendObserved(
  observer: RequestObserver,
  link: ServerLink,
  request: LinkRequest,
  parts: ServerCallParts,
): Promise<RpcResponse | null> {
  return observed(observer, link, request, (call) =>
    sendRequest(link, withTraceContext(request, call), parts),
  );
}

/** As `receive`, which receives the response to a request from the server. */
export async function observed(
  observer: RequestObserver,
  link: ServerLink,
  { method, params }: Pick<LinkRequest, "method" | "params">,
  receive: (call: CallObserver) => Promise<RpcResponse | null>,
): Promise<RpcResponse | null> {
  const isNamed = method === "tools/call" || method === "prompts/get";
  const call = observer.begin(link, method, isNamed ? textOf(params, "name") : null);
  try {
    const response = await receive(call);
    call.ended(response);
    return response;
  } catch (error) {
    call.failed(error);
    throw error;
  }
}

function withTraceContext(request: LinkRequest, { headers, meta }: CallObserver): LinkRequest {
  const traced = { ...request, headers: { ...request.headers, ...headers } };
  if (meta === null) return traced;
  const own = Object.entries(metaOf(request.params)).filter(([key]) => !TRACE_KEYS.has(key));
  return { ...traced, params: { ...request.params, _meta: { ...Object.fromEntries(own), ...meta } } };
}

const TRACE_KEYS: ReadonlySet<string> = new Set(["traceparent", "tracestate"]);
