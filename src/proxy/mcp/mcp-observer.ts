// Records what a request to an MCP service does at the servers, for metrics, request log and traces.
import type { RpcResponse } from "../../mcp/json-rpc.ts";
import type { ServerList } from "../../mcp/list-cache.ts";
import type { RequestObserver } from "../../mcp/observe-request.ts";
import { LISTS, type ListMethod } from "../../mcp/protocol.ts";
import { ServerStatusError } from "../../mcp/server-call.ts";
import type { Log } from "../../telemetry/log/log.ts";
import type { ServerLink } from "../../mcp/server-link.ts";
import type { McpServerTarget } from "../../mcp/server-target.ts";
import type { ObservedMcp } from "../../telemetry/metrics/observed-mcp.ts";
import type { McpCallFacts } from "../../telemetry/requests/mcp-facts.ts";
import { parseTraceparent } from "../../telemetry/traces/trace-context.ts";
import { truncateText } from "../../telemetry/truncate-text.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import type { Exchange } from "../exchange.ts";
import type { McpRequest } from "./mcp-request.ts";

/** Lists whose size is in the metrics already. */
const counted = new WeakSet<ServerList>();

export class ExchangeObserver implements RequestObserver {
  readonly #exchange: Exchange;
  readonly #request: McpRequest;
  readonly #metrics: ObservedMcp;
  readonly #log: Log;

  constructor(exchange: Exchange, request: McpRequest, metrics: ObservedMcp, log: Log) {
    this.#exchange = exchange;
    this.#request = request;
    this.#metrics = metrics;
    this.#log = log;
  }

  found(server: McpServerTarget): void {
    this.#request.server = server;
  }

  silent({ name }: McpServerTarget, method: string): void {
    this.#metrics.countSilent(name, method);
  }

  refused(server: McpServerTarget, method: string, code: string): void {
    const { name } = server;
    this.#metrics.countRefused(name, code);
    const isFirst = this.#request.refused(server, method, code);
    // A server may send any number of such messages.
    if (!isFirst) return;
    const { requestId: request_id } = this.#exchange;
    this.#log.warn(
      { request_id, server: name, method: truncateText(method), code },
      "message of MCP server refused by plugin",
    );
  }

  listed({ name }: McpServerTarget, method: ListMethod, list: ServerList): void {
    if (counted.has(list)) return;
    counted.add(list);
    this.#metrics.setListed(name, LISTS[method].field, list.byKey.size);
  }

  begin(
    { server, version }: ServerLink,
    method: string,
    target: string | null,
  ): ReturnType<RequestObserver["begin"]> {
    const { clock, trace } = this.#exchange;
    const { headers, meta, spanId } = this.#traceContext();
    const call: McpCallFacts = {
      server,
      method,
      target: truncateText(target),
      protocolVersion: version,
      startedAt: clock.now(),
      endedAt: null,
      status: null,
      fault: null,
      errorCode: null,
      isToolError: false,
      spanId: trace === null ? null : spanId,
    };
    this.#request.calls.push(call);
    return {
      headers,
      meta,
      ended: (response) => endCall(call, response, clock.now()),
      failed: (error) => this.#failCall(call, error),
    };
  }

  #failCall(call: McpCallFacts, error: unknown): void {
    call.endedAt = this.#exchange.clock.now();
    if (error instanceof ServerStatusError) {
      call.status = error.status;
      call.errorCode = error.response?.error?.code ?? null;
      call.fault = null;
    } else if (error instanceof UpstreamError)
      // Only a list is aborted without the client: when its time is over.
      call.fault = error.kind === "client_left" && !this.#request.signal.aborted ? "timeout" : error.kind;
    else call.fault = this.#request.signal.aborted ? "client_left" : "invalid";
  }

  /** Without a trace, the client's own context is passed on. */
  #traceContext(): {
    readonly headers: Record<string, string>;
    readonly meta: Record<string, string> | null;
    readonly spanId: string | null;
  } {
    const { trace, request } = this.#exchange;
    const headers: Record<string, string> = {};
    if (trace === null) {
      const parent = request.headers.get("traceparent");
      const state = request.headers.get("tracestate");
      if (parent !== null && parseTraceparent(parent) !== null) {
        headers["traceparent"] = parent;
        if (state !== null) headers["tracestate"] = state;
      }
      return { headers, meta: null, spanId: null };
    }
    if (trace.state !== null) headers["tracestate"] = trace.state;
    const spanId = trace.beginAttempt(headers);
    return { headers, meta: headers, spanId };
  }
}

function endCall(call: McpCallFacts, response: RpcResponse | null, now: number): void {
  call.endedAt = now;
  call.status = 200;
  call.errorCode = response?.error?.code ?? null;
  call.isToolError = call.method === "tools/call" && response?.result?.["isError"] === true;
}
