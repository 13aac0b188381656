// The steps of a request that only rules with MCP servers need.
import type { ValueOrPromise } from "../../base/value-or-promise.ts";
import type { OutgoingResponse } from "../../http/server/outgoing-response.ts";
import type { OffLoop, OffLoopPart } from "../../off-loop/off-loop.ts";
import type { CompiledMcpService } from "../../mcp/compiled.ts";
import type { CompiledGateway } from "../../snapshot/compile.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import type { Exchange } from "../exchange.ts";
import type { FinishParts } from "../finish.ts";
import type { TokenParts } from "./accept-token.ts";
import type { LazyMcp } from "./load-mcp.ts";
import type { ResourceParts } from "./resource-metadata.ts";

interface McpStepParts {
  readonly mcp: LazyMcp;
}

/** Accepts a token instead of an API key, where the gateway has issuers of tokens. */
export function acceptMcpToken(exchange: Exchange, parts: McpStepParts & TokenParts): ValueOrPromise<null> {
  const { rule, gateway } = exchange;
  if (rule === null || rule.jwtIssuers === null || gateway === null) return null;
  return authenticate(exchange, gateway, rule, parts);
}

/** Checks a request to an MCP service before its body is read. */
export function checkMcpRequest(
  exchange: Exchange,
  parts: McpStepParts & ResourceParts,
): ValueOrPromise<null> {
  const { rule } = exchange;
  return rule === null || rule.mcp === null ? null : enter(exchange, parts);
}

/** Reads the messages of a request to an MCP service. Returns the response to one that is not valid. */
export function readMcpMessages(
  exchange: Exchange,
  { mcp, offLoop }: McpStepParts & OffLoopPart,
): ValueOrPromise<OutgoingResponse | null> {
  const service = exchange.mcp === null ? null : (exchange.rule?.mcp ?? null);
  return service === null ? null : read(exchange, service, mcp, offLoop);
}

// The functions with closures are apart: each would allocate its scope for every request, also of other rules.

function authenticate(
  exchange: Exchange,
  gateway: CompiledGateway,
  rule: CompiledRule,
  parts: McpStepParts & TokenParts,
): ValueOrPromise<null> {
  return parts.mcp.with((plane) => plane.authenticate(exchange, gateway, rule, parts));
}

function enter(exchange: Exchange, parts: McpStepParts & ResourceParts): ValueOrPromise<null> {
  return parts.mcp.with((plane) => plane.enter(exchange, parts));
}

function read(
  exchange: Exchange,
  service: CompiledMcpService,
  mcp: LazyMcp,
  offLoop: OffLoop,
): ValueOrPromise<OutgoingResponse | null> {
  return mcp.with((plane) => plane.read(exchange, service, offLoop));
}

/** Serves a request to an MCP service after all steps. */
export function serveMcpService(
  exchange: Exchange,
  service: CompiledMcpService,
  parts: McpStepParts & FinishParts,
): ValueOrPromise<OutgoingResponse> {
  return parts.mcp.with((plane) => plane.serve(exchange, service, parts));
}
