// Adds one request to the metrics.
import type { AttemptFacts, RequestFacts } from "../requests/request-facts.ts";

export function countRequest(facts: RequestFacts): void {
  const { series, gateway, rule, attempts, answeredBy, tokens, cost, errorCode, startedAt } = facts;
  series.countStatus(facts.status);
  series.duration.observe((facts.endedAt - startedAt) / 1000);
  const firstByteAt = answeredBy?.firstByteAt ?? null;
  if (firstByteAt !== null) series.firstByte.observe((firstByteAt - startedAt) / 1000);
  if (tokens !== null) {
    series.inputTokens.add(tokens.input);
    series.outputTokens.add(tokens.output);
  }
  if (cost !== null) series.cost.add(cost);
  gateway.countOutcome(facts.outcome);
  if (errorCode !== null) gateway.countError(errorCode);
  for (let index = 0; index < attempts.length; index++) {
    const attempt = attempts[index] as AttemptFacts;
    attempt.target.countAttempt(attempt.fault ?? attempt.status ?? "none");
    if (index === 0 || rule === null) continue;
    rule.retries.add();
    if (attempts[index - 1]?.target !== attempt.target) rule.failovers.add();
  }
}
