// Spans of requests to MCP services, with the attributes of OpenTelemetry's MCP conventions: those of the request itself, and one
// span per request to a server.
import { BoundedCache } from "../../base/bounded-cache.ts";
import { addressOf, type TargetAddress } from "../metrics/target-address.ts";
import { writeNumber, writeText } from "../otlp/attributes.ts";
import type { ProtobufWriter } from "../otlp/protobuf-writer.ts";
import { mcpOutcomeOf, type McpCallFacts, type McpFacts } from "../requests/mcp-facts.ts";
import type { RequestFacts } from "../requests/request-facts.ts";
import type { RequestTrace } from "./request-trace.ts";
import { CLIENT, encodeCommonPart, SPAN, writeSpanTimes } from "./span-parts.ts";

const addresses = new BoundedCache<string, TargetAddress>(1000);

/** Returns the name of the span of a request; null if it has no message. Names that clients invent are not part of it. */
export function mcpSpanName({ method, tool, prompt, isKnown }: McpFacts): string | null {
  if (method === null) return null;
  const target = isKnown ? (tool ?? prompt) : null;
  return target === null ? method : `${method} ${target}`;
}

/** Returns `error.type` of a request that a server did not serve; null if it did, or if the client made a mistake. */
export function mcpErrorOf(mcp: McpFacts, facts: RequestFacts): string | null {
  const outcome = mcpOutcomeOf(mcp, facts);
  if (outcome === "tool_error") return "tool_error";
  if (outcome !== "error" && outcome !== "failed") return null;
  return mcp.errorCode === null ? null : String(mcp.errorCode);
}

export function writeMcpAttributes(writer: ProtobufWriter, mcp: McpFacts): void {
  const text = (key: string, value: string | null | undefined) =>
    writeText(writer, SPAN.attributes, key, value);
  text("mcp.method.name", mcp.method);
  text("mcp.protocol.version", mcp.protocolVersion);
  text("jsonrpc.request.id", mcp.rpcId);
  text("gen_ai.operation.name", mcp.tool === null ? null : "execute_tool");
  text("gen_ai.tool.name", mcp.tool);
  text("gen_ai.prompt.name", mcp.prompt);
  text("rpc.response.status_code", mcp.errorCode === null ? null : String(mcp.errorCode));
  text("gatehouse.mcp_server", mcp.server?.name);
}

/** Writes the span of a request to a server. */
export function writeMcpCall(
  writer: ProtobufWriter,
  facts: RequestFacts,
  trace: RequestTrace,
  call: McpCallFacts,
): void {
  writer.hex(SPAN.traceId, trace.traceId);
  writer.hex(SPAN.spanId, call.spanId ?? "");
  writer.hex(SPAN.parentSpanId, trace.spanId);
  writeSpanTimes(writer, facts, call.startedAt, call.endedAt ?? facts.endedAt);
  const { method, target, server, status, fault, errorCode } = call;
  const errorType =
    fault ?? (errorCode !== null ? String(errorCode) : call.isToolError ? "tool_error" : null);
  const name = target === null ? method : `${method} ${target}`;
  const { hostname, port } = addressFor(server.baseUrl);
  const part = encodeCommonPart(name, CLIENT, errorType !== null, (write) => {
    const text = (key: string, value: string | null) => writeText(write, SPAN.attributes, key, value);
    text("mcp.method.name", method);
    text("mcp.protocol.version", call.protocolVersion);
    text("gen_ai.operation.name", method === "tools/call" ? "execute_tool" : null);
    text("gen_ai.tool.name", method === "tools/call" ? target : null);
    text("gen_ai.prompt.name", method === "prompts/get" ? target : null);
    text("network.transport", "tcp");
    text("network.protocol.name", "http");
    text("server.address", hostname);
    writeNumber(write, SPAN.attributes, "server.port", port);
    text("http.request.method", "POST");
    writeNumber(write, SPAN.attributes, "http.response.status_code", status);
    text("rpc.response.status_code", errorCode === null ? null : String(errorCode));
    text("error.type", errorType);
    text("gatehouse.mcp_server", server.name);
  });
  writer.raw(part);
}

function addressFor(baseUrl: string): TargetAddress {
  let address = addresses.get(baseUrl);
  if (address === undefined) addresses.set(baseUrl, (address = addressOf(baseUrl)));
  return address;
}
