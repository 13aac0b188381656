// What became of a request of an MCP client, for telemetry.
import type { Reply } from "../../mcp/forward-request.ts";
import { UnknownItemError, type RpcError, type RpcRequest } from "../../mcp/json-rpc.ts";
import { RPC } from "../../mcp/protocol.ts";
import type { McpResult } from "../../telemetry/requests/mcp-facts.ts";

/** What a response of a server says about the request, and the code of its error. */
export function resultOf(
  { method }: RpcRequest,
  reply: NonNullable<Reply>,
): [result: McpResult, errorCode: number | null] {
  if ("error" in reply) return ["error", reply.error.code];
  return [method === "tools/call" && reply.result["isError"] === true ? "tool_error" : "ok", null];
}

export function failureOf(error: RpcError): McpResult {
  if (error instanceof UnknownItemError) return "unknown";
  return error.code === RPC.internalError ? "failed" : "refused";
}
