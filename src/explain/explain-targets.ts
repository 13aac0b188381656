// Which target a request would go to and why the others would not be asked; nothing is picked, claimed or sent.
import type { BalancePlan } from "../balance/balance-plan.ts";
import { GatehouseError } from "../base/errors.ts";
import type { ExplainedTarget, Explanation } from "../model/explanation.ts";
import { maskSecret } from "../model/target.ts";
import type { Candidates, CompiledTarget } from "../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import { redact } from "../telemetry/log/redact.ts";
import { AttemptReport } from "../proxy/attempt-report.ts";
import { candidatesFor, clientHashFor, noHealthyTarget, type AttemptParts } from "../proxy/attempt.ts";
import { encodeRequest, modelFor, type EncodedRequest } from "../proxy/encode.ts";
import type { Exchange } from "../proxy/exchange.ts";
import { CREDENTIAL_HEADERS } from "../proxy/header-filter.ts";

/** An explanation sends no request, so it needs no connections. */
export type ExplainTargetsParts = Omit<AttemptParts, "upstreamPool">;
type UpstreamRequest = Explanation["upstream_request"];

export interface ExplainedAttempt {
  readonly targets: ExplainedTarget[];
  readonly request: UpstreamRequest;
  /** Why nothing would be sent. */
  readonly error: GatehouseError | null;
}

const STATES = { healthy: "healthy", ejected: "out", probing: "trial", resting: "resting" } as const;

export function explainTargets(
  exchange: Exchange,
  rule: CompiledRule,
  parts: ExplainTargetsParts,
): ExplainedAttempt {
  const { upstream } = rule;
  const now = performance.now();
  let candidates: Candidates;
  try {
    candidates = candidatesFor(exchange, upstream);
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    const reason = `it does not serve the model ${exchange.model ?? ""}, and model_routing is require`;
    const targets = upstream.targets.map((target) => tell(exchange, rule, target, now, reason));
    return { targets, request: null, error };
  }
  const { first, then } = candidates;
  // Over copies of all state: picking there is picking as it is, and moves nothing.
  const plan = upstream.plan.rehearsal();
  const clientHash = clientHashFor(exchange, upstream, parts);
  const isRandom = plan.config.algorithm === "random";
  const problems = new Map<number, GatehouseError>();
  let eligible: number[] = [];
  let encoded: EncodedRequest | GatehouseError | null = null;
  let index = -1;
  do {
    const tried = [...problems.keys()];
    eligible = plan.eligible(first, then, tried, now);
    // Where chance would choose, the likeliest stands for all.
    index = isRandom ? likeliest(plan, eligible) : plan.pick(first, then, tried, clientHash, now);
    if (index < 0) break;
    encoded = encodeFor(exchange, rule, upstream.targets[index] as CompiledTarget, plan, now, parts);
    if (encoded instanceof GatehouseError) problems.set(index, encoded);
  } while (encoded instanceof GatehouseError);
  const isChance = isRandom && eligible.length > 1;
  const targets = upstream.targets.map((target): ExplainedTarget => {
    if (!eligible.includes(target.index)) {
      const error = problems.get(target.index);
      const reason = error?.message ?? whyNot(target, candidates, upstream.plan, eligible, now);
      return tell(exchange, rule, target, now, reason);
    }
    const isNext = !isChance && target.index === index;
    const reason = isNext ? "it would be asked now" : isChance ? "chance decides, by weight" : "not its turn";
    return { ...tell(exchange, rule, target, now, reason), eligible: true, next: isNext };
  });
  if (encoded === null) {
    return { targets, request: null, error: noHealthyTarget(upstream.plan.retryAfterMs(first, then, now)) };
  }
  if (encoded instanceof GatehouseError) return { targets, request: null, error: encoded };
  const target = upstream.targets[index] as CompiledTarget;
  return { targets, request: shown(exchange, rule, target, encoded), error: null };
}

/** As an attempt does it: the target is claimed, if only in the rehearsal, and let go where it cannot be encoded for. */
function encodeFor(
  exchange: Exchange,
  rule: CompiledRule,
  target: CompiledTarget,
  plan: BalancePlan,
  now: number,
  parts: ExplainTargetsParts,
): EncodedRequest | GatehouseError {
  const report = new AttemptReport(plan, target.index, now, null);
  try {
    return encodeRequest(exchange, rule, target, parts.clientCredentials);
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    return error;
  } finally {
    report.end("neutral");
  }
}

function tell(
  exchange: Exchange,
  { upstream }: CompiledRule,
  target: CompiledTarget,
  now: number,
  reason: string,
): ExplainedTarget {
  const { id, provider, index } = target;
  const { weight = 1, priority = 1 } = upstream.plan.contenders[index] ?? {};
  const state = STATES[upstream.plan.state(index, now)];
  const model = modelFor(exchange, target);
  return { id, provider, priority, weight, state, eligible: false, next: false, reason, model };
}

/** In the order in which a pick looks. */
function whyNot(
  { index }: CompiledTarget,
  { first, then }: Candidates,
  plan: BalancePlan,
  eligible: readonly number[],
  now: number,
): string {
  const { weight = 0, priority = 0, state } = plan.contenders[index] ?? {};
  if (!first.includes(index) && !then.includes(index)) return "it does not serve the model";
  if (weight <= 0) return "its weight is 0";
  if (plan.config.passive && state !== undefined && !state.health.canServe(now)) {
    if (plan.state(index, now) === "probing") return "it is out, and one request is trying it already";
    return `it is out for another ${seconds(state.health.waitMs(now))}`;
  }
  if (state !== undefined && now < state.restUntil)
    return `it asked for a rest, of another ${seconds(state.restUntil - now)}`;
  if (then.includes(index) && eligible.some((each) => first.includes(each)))
    return "others serve the model that was asked for";
  const tier = Math.min(...eligible.map((each) => plan.contenders[each]?.priority ?? Infinity));
  return `targets of priority ${tier} come before those of ${priority}`;
}

function seconds(milliseconds: number): string {
  return `${Math.max(1, Math.ceil(milliseconds / 1000))} s`;
}

function likeliest(plan: BalancePlan, eligible: readonly number[]): number {
  let best = -1;
  for (const index of eligible) {
    const { weight = 0 } = plan.contenders[index] ?? {};
    if (best < 0 || weight > (plan.contenders[best]?.weight ?? 0)) best = index;
  }
  return best;
}

function shown(
  { method, gateway }: Exchange,
  { upstream }: CompiledRule,
  { id, index }: CompiledTarget,
  { baseUrl, path, headers, body }: EncodedRequest,
): UpstreamRequest {
  const record = gateway?.parts.upstreams.find((each) => each.id === upstream.id)?.targets[index];
  const secrets = new Set<string>(CREDENTIAL_HEADERS);
  secrets.add(record?.credentials?.header_name.toLowerCase() ?? "");
  const url = baseUrl + path;
  const told: Record<string, string> = { host: new URL(url).host };
  for (const [name, value] of Object.entries(headers))
    told[name] = secrets.has(name) ? maskSecret(value) : redact(value);
  const text = body === null ? null : new TextDecoder().decode(body);
  return { target_id: id, method, url, headers: told, body: text };
}
