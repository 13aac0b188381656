// Writes the access log: one line per request of the data plane. The line is written as bytes, because building an object and
// serializing it, or joining strings, would be one of the most expensive steps of a request.
import { BoundedCache } from "../../base/bounded-cache.ts";
import type { LineWriter } from "../../http/line-writer.ts";
import type { Log } from "./log.ts";
import { redact } from "./redact.ts";
import type { RequestFacts } from "../requests/request-facts.ts";
import { mcpOutcomeOf, type McpFacts } from "../requests/mcp-facts.ts";
import { operationOf, translationOf } from "../requests/request-operation.ts";

/** Names as redacted JSON strings. There are few names, and every line repeats them. */
const names = new BoundedCache<string, Uint8Array>(1000);

const UUID = /^[0-9a-f-]{36}$/;

/** Texts that are no names contain only ASCII characters, none of which JSON escapes. */
export function writeAccessLog(log: Log, facts: RequestFacts): void {
  const line = log.beginLine(facts.endedWallMs);
  if (line === null) return;
  const operation = operationOf(facts);
  line.text(',"plane":"proxy"');
  writeRequestId(line, ',"request_id":"', facts.requestId);
  writeName(line, ',"method":', facts.method);
  writeName(line, ',"path":', facts.path);
  if (facts.mirrorOf !== null) writeRequestId(line, ',"mirror_of":"', facts.mirrorOf);
  if (operation !== null) writeText(line, ',"operation":"', operation);
  line.text(',"status":');
  line.number(facts.status);
  writeText(line, ',"outcome":"', facts.outcome);
  if (facts.isDrained) line.text(',"drained":true');
  writeRoute(line, facts);
  line.text(',"attempts":');
  line.number(facts.attempts.length);
  writeTimes(line, facts);
  writeUsage(line, facts);
  log.endLine(line, facts.mirrorOf === null ? "request" : "mirrored request");
}

function writeRoute(line: LineWriter, facts: RequestFacts): void {
  const { finalAttempt, gatewayName, rule, apiKeyName } = facts;
  const translation = translationOf(facts);
  if (gatewayName !== null) writeName(line, ',"gateway":', gatewayName);
  if (rule !== null) writeText(line, ',"rule":"', rule.names.rule.id);
  if (apiKeyName !== null) writeName(line, ',"api_key":', apiKeyName);
  if (finalAttempt !== null) writeName(line, ',"provider":', finalAttempt.target.provider);
  if (finalAttempt !== null && finalAttempt.model !== null) writeName(line, ',"model":', finalAttempt.model);
  if (facts.virtualModel !== null) writeVirtualModel(line, facts.virtualModel);
  if (facts.mcp !== null) writeMcp(line, facts, facts.mcp);
  if (facts.fault !== null) writeText(line, ',"fault":"', facts.fault);
  if (translation !== null) writeText(line, ',"translation":"', `${translation.from}->${translation.to}`);
}

function writeVirtualModel(
  line: LineWriter,
  { name, fallback, reason, canary }: NonNullable<RequestFacts["virtualModel"]>,
): void {
  writeName(line, ',"virtual_model":', name);
  if (canary !== null) writeText(line, ',"canary":"', canary);
  if (fallback === null) return;
  writeName(line, ',"fallback":', fallback);
  writeText(line, ',"fallback_reason":"', String(reason));
}

function writeMcp(line: LineWriter, facts: RequestFacts, mcp: McpFacts): void {
  if (mcp.method !== null) writeName(line, ',"mcp_method":', mcp.method);
  if (mcp.tool !== null) writeName(line, ',"tool":', mcp.tool);
  if (mcp.server !== null) writeName(line, ',"mcp_server":', mcp.server.name);
  writeText(line, ',"mcp_outcome":"', mcpOutcomeOf(mcp, facts));
}

function writeTimes(
  line: LineWriter,
  { finalAttempt, startedAt, endedAt, firstTokenAt }: RequestFacts,
): void {
  line.text(',"ms":');
  line.hundredths(endedAt - startedAt);
  if (finalAttempt !== null && finalAttempt.firstByteAt !== null) {
    line.text(',"first_byte_ms":');
    line.hundredths(finalAttempt.firstByteAt - finalAttempt.startedAt);
  }
  if (firstTokenAt === null) return;
  line.text(',"first_token_ms":');
  line.hundredths(firstTokenAt - startedAt);
}

function writeUsage(line: LineWriter, { tokens, cost }: RequestFacts): void {
  if (tokens !== null) {
    line.text(',"input_tokens":');
    line.number(tokens.input);
    line.text(',"output_tokens":');
    line.number(tokens.output);
  }
  if (cost === null) return;
  line.text(',"cost":');
  line.number(cost);
}

/** `start` ends with a quotation mark. */
function writeText(line: LineWriter, start: string, text: string): void {
  line.text(start);
  line.text(text);
  line.text('"');
}

/** The gateway's own ids are UUIDs, which contain nothing that `redact` would remove. Those of clients are ASCII as well. */
function writeRequestId(line: LineWriter, start: string, requestId: string): void {
  writeText(line, start, UUID.test(requestId) ? requestId : redact(requestId));
}

function writeName(line: LineWriter, start: string, name: string): void {
  let bytes = names.get(name);
  if (bytes === undefined) {
    bytes = Buffer.from(redact(JSON.stringify(name)));
    names.set(name, bytes);
  }
  line.text(start);
  line.constant(bytes);
}
