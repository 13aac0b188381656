// Explains which target would receive a request, and why the others would not. Changes no balancing state and sends
// nothing.
import type { BalancePlan } from "../balance/balance-plan.ts";
import { GatehouseError } from "../base/errors.ts";
import type { ExplainedTarget, Explanation } from "../model/explanation.ts";
import { isSecretHeader } from "../model/target-secrets.ts";
import { HIDDEN, maskSecret } from "../model/secret-mask.ts";
import type { Candidates, CompiledTarget, CompiledUpstream } from "../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import { redact } from "../telemetry/log/redact.ts";
import { modelRefusal } from "../proxy/allowed-models.ts";
import { BalancerReport } from "../proxy/balancer-report.ts";
import { candidatesFor, clientHashFor, noHealthyTarget, type AttemptParts } from "../proxy/attempt.ts";
import { hasOwnApi } from "../proxy/upload-candidates.ts";
import { explainHedge } from "./explain-hedge.ts";
import type { EncodedRequest } from "../proxy/encode.ts";
import type { Exchange } from "../proxy/exchange.ts";
import { CREDENTIAL_HEADERS } from "../proxy/header-filter.ts";
import { modelFor } from "../proxy/model-for.ts";
import { takesDefaultModel } from "../proxy/operation.ts";
import { endpointAt } from "../proxy/request-endpoint.ts";
import { encodeForTarget } from "../proxy/realtime/encode-handshake.ts";
import { isStoredAt } from "../proxy/stored-ids/stored-at.ts";

/** An explanation sends no request, so it needs no connections. */
export type ExplainTargetsParts = Omit<AttemptParts, "upstreamPool" | "offLoop" | "reservations">;
type UpstreamRequest = Explanation["upstream_request"];

export interface ExplainedAttempt {
  readonly targets: ExplainedTarget[];
  readonly request: UpstreamRequest;
  /** Whether the request would be hedged; null if the upstream does not hedge, or no request would be sent. */
  readonly hedge: Explanation["hedge"];
  /** What happens if the client leaves; null if no request would be sent. */
  readonly onCancel: Explanation["on_cancel"];
  /** Why no request would be sent; null if one would. */
  readonly error: GatehouseError | null;
}

const STATES = { healthy: "healthy", ejected: "out", probing: "trial", resting: "resting" } as const;

export function explainTargets(
  exchange: Exchange,
  rule: CompiledRule,
  parts: ExplainTargetsParts,
  chosen: Candidates | null,
): ExplainedAttempt {
  const { upstream } = rule;
  const now = exchange.clock.now();
  let candidates: Candidates;
  try {
    candidates = candidatesFor(exchange, rule);
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    const reason = routingReason(exchange, upstream);
    const targets = upstream.targets.map((target) => {
      const own = operationReason(exchange, target) ?? refusalOf(exchange, rule, target);
      return describeTarget(exchange, rule, target, now, own ?? reason);
    });
    return { targets, request: null, hedge: null, onCancel: null, error };
  }
  const pick = rehearsePick(exchange, rule, chosen ?? candidates, parts, now);
  const targets = upstream.targets.map((target) =>
    explainTarget(exchange, rule, target, candidates, pick, now),
  );
  const { target, encoded, errors } = pick;
  if (target !== null && encoded !== null) {
    const translation = describeTranslation(exchange, rule, target, encoded);
    return {
      targets,
      request: { ...describeRequest(exchange, rule, target, encoded), translation },
      hedge: explainHedge(exchange, rule, target, candidates, now),
      onCancel: upstream.onCancel,
      error: null,
    };
  }
  const waitMs = upstream.plan.retryAfterMs(candidates.preferred, candidates.fallback, now);
  const error = [...errors.values()].at(-1) ?? noHealthyTarget(upstream, waitMs);
  return { targets, request: null, hedge: null, onCancel: null, error };
}

/** Which target would be picked, and the request that would be sent to it. */
interface RehearsedPick {
  /** The targets among which the last pick chose. */
  readonly eligible: readonly number[];
  /** Null if no target is left to pick. */
  readonly target: CompiledTarget | null;
  readonly encoded: EncodedRequest | null;
  /** Targets that were picked earlier, but whose format cannot express the request. */
  readonly errors: ReadonlyMap<number, GatehouseError>;
  /** Several targets are eligible, and one of them would be chosen at random. */
  readonly isRandom: boolean;
}

function rehearsePick(
  exchange: Exchange,
  rule: CompiledRule,
  { preferred, fallback }: Candidates,
  parts: ExplainTargetsParts,
  now: number,
): RehearsedPick {
  const { upstream } = rule;
  // A copy of all balancing state: a pick from it chooses as a real one does, and changes nothing.
  const plan = upstream.plan.simulation();
  const clientHash = clientHashFor(exchange, upstream, parts);
  const picksAtRandom = plan.config.algorithm === "random";
  const errors = new Map<number, GatehouseError>();
  for (;;) {
    const tried = [...errors.keys()];
    const eligible = plan.eligible(preferred, fallback, tried, now);
    const isRandom = picksAtRandom && eligible.length > 1;
    // Of targets that are chosen at random, the explanation shows the request to the likeliest.
    const index = picksAtRandom
      ? likeliest(plan, eligible)
      : plan.pick(preferred, fallback, tried, clientHash, now);
    const target = upstream.targets[index];
    if (target === undefined) return { eligible, target: null, encoded: null, errors, isRandom };
    const encoded = encodeFor(exchange, rule, target, plan, now, parts);
    if (!(encoded instanceof GatehouseError)) return { eligible, target, encoded, errors, isRandom };
    errors.set(index, encoded);
  }
}

/** Claims the target in the rehearsed plan as a real attempt does, and releases it if the request cannot be encoded. */
function encodeFor(
  exchange: Exchange,
  rule: CompiledRule,
  target: CompiledTarget,
  plan: BalancePlan,
  now: number,
  parts: ExplainTargetsParts,
): EncodedRequest | GatehouseError {
  const report = new BalancerReport(plan, target.index, now, null);
  try {
    return encodeForTarget(exchange, rule, target, parts);
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    return error;
  } finally {
    report.end("neutral", now);
  }
}

function explainTarget(
  exchange: Exchange,
  rule: CompiledRule,
  target: CompiledTarget,
  candidates: Candidates,
  { eligible, target: picked, errors, isRandom }: RehearsedPick,
  now: number,
): ExplainedTarget {
  if (!eligible.includes(target.index)) {
    const reason =
      errors.get(target.index)?.message ??
      storageReason(exchange, target) ??
      operationReason(exchange, target) ??
      refusalOf(exchange, rule, target) ??
      ineligibleReason(target, candidates, rule.upstream.plan, eligible, now);
    return describeTarget(exchange, rule, target, now, reason);
  }
  const isNext = !isRandom && target === picked;
  const reason = isNext
    ? "receives this request"
    : isRandom
      ? "chosen at random, by weight"
      : "another target is next";
  return { ...describeTarget(exchange, rule, target, now, reason), eligible: true, next: isNext };
}

function routingReason(
  { endpoint, fields: { model, modelProblem } }: Exchange,
  { requiresModel }: CompiledUpstream,
): string {
  if (endpoint?.operation === "embeddings") return `would replace the model ${model ?? ""}`;
  const problem =
    modelProblem === null ? `does not serve the model ${model ?? ""}` : "the model cannot be determined";
  return `${problem}, and model_routing is ${requiresModel ? "require" : "null"}`;
}

/** Returns why the operation of the request excludes the target; null if it does not. */
function operationReason(exchange: Exchange, target: CompiledTarget): string | null {
  const { endpoint } = exchange;
  if (endpoint === null || hasOwnApi(exchange, endpoint, target)) return null;
  const api = endpoint.operation === "files" ? " in the API of the request" : "";
  return `${target.provider} does not have the operation ${endpoint.operation}${api}`;
}

/** Returns why the ids of stored objects in the request exclude the target; null if they do not. */
function storageReason({ storedAt }: Exchange, target: CompiledTarget): string | null {
  if (storedAt === null || isStoredAt(storedAt, target)) return null;
  return "the stored objects that the request names are at another target";
}

/** Returns why the API key excludes the target; null if it does not. */
function refusalOf(exchange: Exchange, rule: CompiledRule, target: CompiledTarget): string | null {
  const allowed = exchange.apiKey?.models ?? null;
  return allowed === null ? null : (modelRefusal(exchange, rule, target, allowed)?.message ?? null);
}

function describeTarget(
  exchange: Exchange,
  rule: CompiledRule,
  target: CompiledTarget,
  now: number,
  reason: string,
): ExplainedTarget {
  const { upstream } = rule;
  const { id, provider, index } = target;
  const { weight = 1, priority = 1 } = upstream.plan.contenders[index] ?? {};
  const state = STATES[upstream.plan.state(index, now)];
  const { fields } = exchange;
  const hasModel = fields.model !== null || takesDefaultModel(exchange, rule, target);
  const model = hasModel ? modelFor(fields, target) : null;
  const credentials = target.credentialType;
  return { id, provider, priority, weight, state, eligible: false, next: false, reason, model, credentials };
}

/** Checks in the same order as a pick. */
function ineligibleReason(
  { index }: CompiledTarget,
  { preferred, fallback }: Candidates,
  plan: BalancePlan,
  eligible: readonly number[],
  now: number,
): string {
  const { weight = 0, priority = 0, state } = plan.contenders[index] ?? {};
  if (!preferred.includes(index) && !fallback.includes(index)) return "does not serve the model";
  if (weight <= 0) return "its weight is 0";
  if (plan.config.passive && state !== undefined && !state.health.canServe(now)) {
    if (plan.state(index, now) === "probing") return "unhealthy; a trial request is in progress";
    return `unhealthy for another ${seconds(state.health.waitMs(now))}`;
  }
  if (state !== undefined && now < state.restUntil)
    return `its provider sent 429 with Retry-After; not used for another ${seconds(state.restUntil - now)}`;
  if (fallback.includes(index) && eligible.some((each) => preferred.includes(each)))
    return "other targets serve the requested model";
  const tier = Math.min(...eligible.map((each) => plan.contenders[each]?.priority ?? Infinity));
  return `targets of priority ${tier} are used before priority ${priority}`;
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

function describeTranslation(
  exchange: Exchange,
  rule: CompiledRule,
  target: CompiledTarget,
  { translation, dropped }: EncodedRequest,
): NonNullable<UpstreamRequest>["translation"] {
  const { requestFormat, format } = endpointAt(exchange, rule, target);
  if (requestFormat === null && translation === null) return null;
  return {
    request_format: (requestFormat ?? format).name,
    target_format: format.name,
    response_format: (translation?.to ?? format).name,
    dropped: [...dropped],
  };
}

/** Secrets are masked. */
function describeRequest(
  { method, gateway }: Exchange,
  { upstream }: CompiledRule,
  { id, index }: CompiledTarget,
  { baseUrl, path, headers: sent, body, credential }: EncodedRequest,
): Omit<NonNullable<UpstreamRequest>, "translation"> {
  const record = gateway?.parts.upstreams.find((each) => each.id === upstream.id)?.targets[index];
  const secrets = new Set<string>(CREDENTIAL_HEADERS);
  const credentials = record?.credentials ?? null;
  if (credentials !== null && "header_name" in credentials)
    secrets.add(credentials.header_name.toLowerCase());
  const url = baseUrl + path;
  const headers: Record<string, string> = { host: new URL(url).host };
  for (const [name, value] of Object.entries(sent))
    headers[name] = secrets.has(name) || isSecretHeader(name) ? maskSecret(value) : redact(value);
  // The credential is computed or fetched only for a request that is sent.
  if (credential !== null) headers["authorization"] = HIDDEN;
  const text = body === null ? null : new TextDecoder().decode(body);
  return { target_id: id, method, url, headers, body: text };
}
