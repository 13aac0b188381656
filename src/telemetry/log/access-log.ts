// The access line: what the log tells of every request of the data plane. Put together as text, because of all that is
// done for a request it would be among the dearest.
import type { Log } from "./log.ts";
import { redact } from "./redact.ts";
import type { RequestFacts } from "../requests/request-facts.ts";

/** Names as JSON, past the redacting door: they are few, and every line repeats them. Beyond this many all are made anew. */
const names = new Map<string, string>();
const MAX_NAMES = 1000;

export function writeAccessLog(log: Log, facts: RequestFacts): void {
  const { answeredBy } = facts;
  const firstByteAt = answeredBy?.firstByteAt ?? null;
  let fields = `,"plane":"proxy","request_id":"${redact(facts.requestId)}"`;
  fields += `,"method":${nameText(facts.method)},"path":${nameText(facts.path)}`;
  fields += `,"status":${facts.status},"outcome":"${facts.outcome}"`;
  if (facts.gatewayName !== null) fields += `,"gateway":${nameText(facts.gatewayName)}`;
  if (facts.rule !== null) fields += `,"rule":"${facts.rule.names.rule.id}"`;
  if (facts.apiKeyName !== null) fields += `,"api_key":${nameText(facts.apiKeyName)}`;
  if (answeredBy !== null) fields += `,"provider":${nameText(answeredBy.target.provider)}`;
  if (answeredBy !== null && answeredBy.model !== null) fields += `,"model":${nameText(answeredBy.model)}`;
  fields += `,"attempts":${facts.attempts.length},"ms":${round(facts.endedAt - facts.startedAt)}`;
  if (answeredBy !== null && firstByteAt !== null)
    fields += `,"first_byte_ms":${round(firstByteAt - answeredBy.startedAt)}`;
  log.infoRedacted(fields, "request");
}

function nameText(name: string): string {
  let text = names.get(name);
  if (text === undefined) {
    text = redact(JSON.stringify(name));
    if (names.size >= MAX_NAMES) names.clear();
    names.set(name, text);
  }
  return text;
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 100) / 100;
}
