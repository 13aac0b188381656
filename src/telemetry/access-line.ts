// The access line: what the log tells of every request of the data plane.
import type { Log } from "./log.ts";
import type { RequestFacts } from "./request-facts.ts";

export function writeAccessLine(log: Log, facts: RequestFacts): void {
  const { answeredBy } = facts;
  const firstByteAt = answeredBy?.firstByteAt ?? null;
  log.info(
    {
      plane: "proxy",
      request_id: facts.requestId,
      method: facts.method,
      path: facts.path,
      status: facts.status,
      outcome: facts.outcome,
      gateway: facts.gatewayName ?? undefined,
      rule: facts.rule?.names.rule.id,
      api_key: facts.apiKeyName ?? undefined,
      provider: answeredBy?.target.provider,
      model: answeredBy?.model ?? undefined,
      attempts: facts.attempts.length,
      ms: round(facts.endedAt - facts.startedAt),
      first_byte_ms:
        answeredBy === null || firstByteAt === null ? undefined : round(firstByteAt - answeredBy.startedAt),
    },
    "request",
  );
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 100) / 100;
}
