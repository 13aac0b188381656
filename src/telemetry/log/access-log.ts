// Writes the access log: one line per request of the data plane. The line is concatenated as text, because building an object
// and serializing it would be one of the most expensive steps of a request.
import { BoundedCache } from "../../base/bounded-cache.ts";
import type { Log } from "./log.ts";
import { redact } from "./redact.ts";
import type { RequestFacts } from "../requests/request-facts.ts";
import { mcpOutcomeOf, type McpFacts } from "../requests/mcp-facts.ts";
import { operationOf, translationOf } from "../requests/request-operation.ts";

/** Names as redacted JSON strings. There are few names, and every line repeats them. */
const names = new BoundedCache<string, string>(1000);

const UUID = /^[0-9a-f-]{36}$/;

export function writeAccessLog(log: Log, facts: RequestFacts): void {
  const { finalAttempt } = facts;
  const firstByteAt = finalAttempt?.firstByteAt ?? null;
  const operation = operationOf(facts);
  const translation = translationOf(facts);
  let fields = `,"plane":"proxy","request_id":"${requestIdText(facts.requestId)}"`;
  fields += `,"method":${nameText(facts.method)},"path":${nameText(facts.path)}`;
  if (facts.mirrorOf !== null) fields += `,"mirror_of":"${requestIdText(facts.mirrorOf)}"`;
  if (operation !== null) fields += `,"operation":"${operation}"`;
  fields += `,"status":${facts.status},"outcome":"${facts.outcome}"`;
  if (facts.gatewayName !== null) fields += `,"gateway":${nameText(facts.gatewayName)}`;
  if (facts.rule !== null) fields += `,"rule":"${facts.rule.names.rule.id}"`;
  if (facts.apiKeyName !== null) fields += `,"api_key":${nameText(facts.apiKeyName)}`;
  if (finalAttempt !== null) fields += `,"provider":${nameText(finalAttempt.target.provider)}`;
  if (finalAttempt !== null && finalAttempt.model !== null)
    fields += `,"model":${nameText(finalAttempt.model)}`;
  if (facts.virtualModel !== null) fields += virtualModelText(facts.virtualModel);
  if (facts.mcp !== null) fields += mcpText(facts, facts.mcp);
  if (facts.fault !== null) fields += `,"fault":"${facts.fault}"`;
  if (translation !== null) fields += `,"translation":"${translation.from}->${translation.to}"`;
  fields += `,"attempts":${facts.attempts.length},"ms":${round(facts.endedAt - facts.startedAt)}`;
  if (finalAttempt !== null && firstByteAt !== null)
    fields += `,"first_byte_ms":${round(firstByteAt - finalAttempt.startedAt)}`;
  if (facts.firstTokenAt !== null)
    fields += `,"first_token_ms":${round(facts.firstTokenAt - facts.startedAt)}`;
  if (facts.tokens !== null)
    fields += `,"input_tokens":${facts.tokens.input},"output_tokens":${facts.tokens.output}`;
  if (facts.cost !== null) fields += `,"cost":${facts.cost}`;
  log.infoRedacted(facts.endedWallMs, fields, facts.mirrorOf === null ? "request" : "mirrored request");
}

function virtualModelText({
  name,
  fallback,
  reason,
  canary,
}: NonNullable<RequestFacts["virtualModel"]>): string {
  let text = `,"virtual_model":${nameText(name)}`;
  if (canary !== null) text += `,"canary":"${canary}"`;
  return fallback === null ? text : `${text},"fallback":${nameText(fallback)},"fallback_reason":"${reason}"`;
}

function mcpText(facts: RequestFacts, mcp: McpFacts): string {
  let text = mcp.method === null ? "" : `,"mcp_method":${nameText(mcp.method)}`;
  if (mcp.tool !== null) text += `,"tool":${nameText(mcp.tool)}`;
  if (mcp.server !== null) text += `,"mcp_server":${nameText(mcp.server.name)}`;
  return `${text},"mcp_outcome":"${mcpOutcomeOf(mcp, facts)}"`;
}

/** The gateway's own ids are UUIDs, which contain nothing that `redact` would remove. */
function requestIdText(requestId: string): string {
  return UUID.test(requestId) ? requestId : redact(requestId);
}

function nameText(name: string): string {
  let text = names.get(name);
  if (text === undefined) {
    text = redact(JSON.stringify(name));
    names.set(name, text);
  }
  return text;
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 100) / 100;
}
