// Finished requests for the telemetry tests.
import { Metrics } from "../metrics/metrics.ts";
import { ObservedRoutes, type ObservedRule, type ObservedTarget } from "../metrics/observed-route.ts";
import { AttemptFacts, type RequestFacts } from "./request-facts.ts";

const metrics = new Metrics();
const routes = new ObservedRoutes(metrics);
const target = {
  id: "target-1",
  provider: "one",
  semanticName: "one",
  baseUrl: "http://one",
  path: null,
  models: [],
};
const rule: ObservedRule = routes.addRule(
  {},
  { gateway: "g", rule: { id: "rule-1", name: null, path: "/p" }, upstream: "u" },
  [target, { ...target, id: "target-2", provider: "two" }],
);

/** A request that was served; its gateway is `gateway-1`. */
export function requestFacts(fields: Partial<RequestFacts> = {}): RequestFacts {
  const gateway = routes.gateway(null, "");
  return {
    requestId: "id",
    mirrorOf: null,
    revision: 7,
    method: "POST",
    path: "/p",
    sentPath: "/p",
    operation: null,
    hasMessages: false,
    hasPrompt: false,
    gatewayId: "gateway-1",
    gatewayName: "g",
    gateway,
    rule,
    apiKeyId: null,
    apiKeyName: null,
    status: 200,
    outcome: "complete",
    errorCode: null,
    requestedModel: "wanted",
    virtualModel: null,
    mcp: null,
    fault: null,
    isStream: false,
    isDrained: false,
    firstTokenAt: null,
    relaysReasoning: false,
    attempts: [],
    hedge: null,
    finalAttempt: null,
    tokens: null,
    cost: null,
    isUnpriced: false,
    isUsageCounted: false,
    startedAt: 1000,
    endedAt: 1250,
    endedWallMs: Date.parse("2026-01-01T00:00:01.000Z"),
    bodyMs: 1,
    plugins: null,
    shadow: null,
    bodies: null,
    series: gateway.unmatched,
    trace: null,
    sampling: null,
    ...fields,
  };
}

/** An attempt at the target of this index. */
export function servedBy(index: number, fields: Partial<AttemptFacts> = {}): AttemptFacts {
  return Object.assign(new AttemptFacts(rule.targets[index] as ObservedTarget, 1010), {
    endedAt: 1020,
    ...fields,
  });
}
