// The trace of a request whose client sends its trace context in `_meta`, as OpenTelemetry's MCP conventions recommend, and not in
// header fields.
import { metaOf, textOf } from "../../mcp/json-rpc.ts";
import type { Tracer } from "../../telemetry/traces/tracer.ts";
import { parseTraceparent } from "../../telemetry/traces/trace-context.ts";
import type { Exchange } from "../exchange.ts";
import type { McpRequest } from "./mcp-request.ts";

export function adoptTrace(exchange: Exchange, { main }: McpRequest, tracer: Tracer): void {
  if (main === null || main.kind === "response") return;
  if (parseTraceparent(exchange.request.headers.get("traceparent")) !== null) return;
  const meta = metaOf(main.params);
  if (parseTraceparent(textOf(meta, "traceparent")) === null) return;
  exchange.trace = tracer.begin({
    get: (name) => textOf(meta, name),
    has: (name) => textOf(meta, name) !== null,
  });
}
