// Adds one finished request to the metrics.
import type { VirtualModelNames } from "./observed-gateway.ts";
import {
  msPerOutputToken,
  type AttemptFacts,
  type RequestFacts,
  type TokenFacts,
} from "../requests/request-facts.ts";
import { translationOf } from "../requests/request-operation.ts";
import type { RequestSeries } from "./request-series.ts";

export function countRequest(facts: RequestFacts): void {
  const { series, gateway, rule, attempts, finalAttempt, tokens, cost, errorCode, startedAt, firstTokenAt } =
    facts;
  series.countStatus(facts.status);
  series.duration.observe((facts.endedAt - startedAt) / 1000);
  const firstByteAt = finalAttempt?.firstByteAt ?? null;
  if (firstByteAt !== null) series.firstByte.observe((firstByteAt - startedAt) / 1000);
  if (firstTokenAt !== null) {
    series.firstToken.observe((firstTokenAt - startedAt) / 1000);
    const msPerToken = msPerOutputToken(facts);
    if (msPerToken !== null) series.perOutputToken.observe(msPerToken / 1000);
  }
  if (!facts.isUsageCounted) countUsage(series, tokens, cost, facts.isUnpriced);
  gateway.countOutcome(facts.outcome);
  if (errorCode !== null) gateway.countError(errorCode);
  const translation = translationOf(facts);
  if (translation !== null) gateway.countTranslation(translation.from, translation.to);
  if (facts.virtualModel !== null) countVirtualModel(facts, facts.virtualModel);
  if (facts.fault !== null) gateway.countFaults(facts.fault.split(", "));
  if (facts.mcp !== null) gateway.mcp.count(facts, facts.mcp);
  if (facts.hedge !== null) gateway.countHedge(rule?.names.upstream ?? "", facts.hedge);
  let previous: AttemptFacts | null = null;
  for (const attempt of attempts) {
    attempt.target.countAttempt(attempt.fault ?? attempt.status ?? "none");
    if (previous !== null && rule !== null) {
      rule.retries.add();
      if (previous.target !== attempt.target) rule.failovers.add();
    }
    previous = attempt;
  }
}

/** Counts the copy of a request. */
export function countMirrored({ gateway, virtualModel, outcome, status, cost }: RequestFacts): void {
  const result = outcome !== "complete" ? "failed" : status < 400 ? "ok" : "error";
  gateway.countMirror(virtualModel?.name ?? "", result, cost);
}

function countVirtualModel(facts: RequestFacts, model: VirtualModelNames): void {
  const { gateway, rule, finalAttempt, tokens } = facts;
  const upstream = rule?.names.upstream ?? "";
  gateway.countVirtualModel(model, upstream, facts.outcome);
  if (tokens !== null && finalAttempt !== null)
    gateway.countCachedInput(model, upstream, finalAttempt.target.id, tokens);
}

export function countUsage(
  series: RequestSeries,
  tokens: Pick<TokenFacts, "input" | "output"> | null,
  cost: number | null,
  isUnpriced: boolean,
): void {
  if (tokens !== null) {
    series.inputTokens.add(tokens.input);
    series.outputTokens.add(tokens.output);
  }
  if (cost !== null) series.cost.add(cost);
  else if (isUnpriced) series.unpriced.add();
}
