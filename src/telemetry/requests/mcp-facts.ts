// The facts of a request to an MCP service: what it asked for, which server served it, and what was sent to servers.

/**
 * What became of the messages of the request. `tool_error`: the tool reports an error in its result (`isError`). `error`: the server
 * responded with a JSON-RPC error. `unknown`: no server offers the tool, prompt or resource to this client. `failed`: the server
 * did not respond as expected. `refused`: the message is not valid.
 */
export type McpResult = "ok" | "tool_error" | "error" | "unknown" | "refused" | "failed";

/** `refused`: the gateway or a plugin rejected the request. `canceled`: the client canceled it or disconnected. */
export const MCP_OUTCOMES = [
  "ok",
  "tool_error",
  "error",
  "unknown",
  "refused",
  "failed",
  "canceled",
] as const;
export type McpOutcome = (typeof MCP_OUTCOMES)[number];

/** An MCP server as telemetry names it. */
export interface ObservedServer {
  readonly id: string;
  readonly name: string;
  readonly baseUrl: string;
}

/** One request to an MCP server. Times are those of the gateway's clock. */
export interface McpCallFacts {
  readonly server: ObservedServer;
  /** The JSON-RPC method. */
  readonly method: string;
  /** The tool or prompt, by the name that the server uses; null if the method has none. */
  readonly target: string | null;
  readonly protocolVersion: string;
  readonly startedAt: number;
  endedAt: number | null;
  /** The HTTP status; null if there was no response. */
  status: number | null;
  /** Why there was no response that follows the protocol. */
  fault: string | null;
  /** The code of a JSON-RPC error; null if there is none. */
  errorCode: number | null;
  isToolError: boolean;
  /** Null if the request is not traced. */
  readonly spanId: string | null;
}

/** Messages of one kind that a plugin refused, while the rest of the request was served. */
export interface McpRefusalFacts {
  readonly server: ObservedServer;
  /** The JSON-RPC method of the message, or that it responds to. */
  readonly method: string;
  readonly code: string;
  count: number;
}

export interface McpFacts {
  /** The JSON-RPC method: in a batch that of the tool call, else of its first message. Null for a request without messages. */
  readonly method: string | null;
  /** The called tool, by the name that the client uses. */
  readonly tool: string | null;
  /** The prompt, by the name that the client uses. */
  readonly prompt: string | null;
  /** Whether a server offers the tool or prompt to the client. If not, its name is the client's invention. */
  readonly isKnown: boolean;
  readonly server: ObservedServer | null;
  readonly protocolVersion: string | null;
  /** The id of the JSON-RPC request. */
  readonly rpcId: string | null;
  /** The code of the JSON-RPC error that the client got; null if it got none. */
  readonly errorCode: number | null;
  /** Null if the request did not get as far. */
  readonly result: McpResult | null;
  readonly calls: readonly McpCallFacts[];
  readonly refusals: readonly McpRefusalFacts[];
}

export function mcpOutcomeOf(
  { result }: McpFacts,
  { outcome, status }: { readonly outcome: string; readonly status: number },
): McpOutcome {
  if (outcome === "client_left") return "canceled";
  if (outcome === "refused") return "refused";
  if (outcome === "failed" || outcome === "incomplete" || status >= 500) return "failed";
  return result ?? "ok";
}
