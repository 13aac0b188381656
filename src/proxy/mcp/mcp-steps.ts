// The steps of a request that only rules with MCP servers need.
import type { ValueOrPromise } from "../../base/value-or-promise.ts";
import type { OutgoingResponse } from "../../http/server/outgoing-response.ts";
import type { Exchange } from "../exchange.ts";
import type { TokenParts } from "./accept-token.ts";
import type { LazyMcp } from "./load-mcp.ts";

interface McpStepParts {
  readonly mcp: LazyMcp;
}

/** Accepts a token instead of an API key, where the gateway has issuers of tokens. */
export function acceptMcpToken(exchange: Exchange, parts: McpStepParts & TokenParts): ValueOrPromise<null> {
  const { rule, gateway } = exchange;
  if (rule === null || rule.jwtIssuers === null || gateway === null) return null;
  return parts.mcp.with((plane) => plane.authenticate(exchange, gateway, rule, parts));
}

/** Checks a request to an MCP service before its body is read. */
export function checkMcpRequest(exchange: Exchange, { mcp }: McpStepParts): ValueOrPromise<null> {
  const { rule } = exchange;
  return rule === null || rule.mcp === null ? null : mcp.with((plane) => plane.enter(exchange));
}

/** Reads the messages of a request to an MCP service. Returns the response to one that is not valid. */
export function readMcpMessages(
  exchange: Exchange,
  { mcp }: McpStepParts,
): ValueOrPromise<OutgoingResponse | null> {
  const service = exchange.mcp === null ? null : (exchange.rule?.mcp ?? null);
  return service === null ? null : mcp.with((plane) => plane.read(exchange, service));
}
