// Asks a target and, while no byte has gone to the client, another: pick → encode → send → classify → report. The only
// retry loop there is.
import { hashText } from "../balance/text-hash.ts";
import { GatehouseError } from "../base/errors.ts";
import type { Candidates, CompiledTarget, CompiledUpstream } from "../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { IncomingAnswer } from "../upstream/incoming-answer.ts";
import { cutText } from "../telemetry/cut-text.ts";
import type { ObservedRule, ObservedTarget } from "../telemetry/observed-route.ts";
import { AttemptFacts } from "../telemetry/request-facts.ts";
import { modelIn } from "../telemetry/trace-context.ts";
import { send } from "../upstream/send.ts";
import { UpstreamFault } from "../upstream/upstream-fault.ts";
import { Answer, verdictOf } from "./answer.ts";
import { AttemptReport } from "./attempt-report.ts";
import type { ClientCredentials } from "./client-credential.ts";
import { encodeRequest, type EncodedRequest } from "./encode.ts";
import type { Exchange } from "./exchange.ts";
import { refusesUsageOption, rememberRefusal } from "./usage-option.ts";

/** Answers of these are tried elsewhere; any other is the client's to see. */
const FAILOVER = new Set([429, 500, 502, 503, 504, 529]);

export interface AttemptParts {
  readonly clientCredentials: ClientCredentials;
  readonly clientAddress: (exchange: Exchange) => string;
}

export async function attempt(
  exchange: Exchange,
  rule: CompiledRule,
  observed: ObservedRule,
  parts: AttemptParts,
): Promise<Answer> {
  const { upstream } = rule;
  const { plan, targets } = upstream;
  const { first, then } = candidatesFor(exchange, upstream);
  const clientHash = clientHashFor(exchange, upstream, parts);
  plan.retries.recordRequest(performance.now());
  const tried: number[] = [];
  let lastAnswer: Answer | null = null;
  let lastFault: Error | null = null;
  let isSecondTry = false;
  let index = plan.pick(first, then, null, clientHash, performance.now());
  while (index >= 0) {
    const target = targets[index] as CompiledTarget;
    const result = await ask(exchange, rule, target, observed, parts);
    if (result instanceof Error) lastFault = result;
    else {
      lastAnswer?.reader?.cancel();
      lastAnswer = result;
      if (!FAILOVER.has(result.response.status)) break;
    }
    if (exchange.isOver || exchange.attempts >= upstream.maxAttempts) break;
    tried.push(index);
    const next = plan.pick(first, then, tried, clientHash, performance.now());
    if (next < 0) {
      // There is no other: what broke before any answer may have been a connection that had gone stale.
      if (isSecondTry || !isBroken(result)) break;
      isSecondTry = true;
    } else index = next;
    // A request that could not even be encoded has cost no provider anything.
    if (!(result instanceof GatehouseError) && !plan.retries.tryRetry(performance.now())) break;
  }
  // When all fail the client gets the last answer that a provider gave, as it was.
  if (lastAnswer !== null && !exchange.hasClientLeft) return lastAnswer;
  lastAnswer?.reader?.cancel();
  throw lastFault ?? noHealthyTarget(plan.retryAfterMs(first, then, performance.now()));
}

/** Whom this request may go to. */
export function candidatesFor({ model }: Exchange, upstream: CompiledUpstream): Candidates {
  const candidates = upstream.candidatesFor(model);
  if (candidates === null)
    throw new GatehouseError("model_not_found", `No target serves the model "${model ?? ""}".`);
  return candidates;
}

export function clientHashFor(exchange: Exchange, upstream: CompiledUpstream, parts: AttemptParts): number {
  return hashText(upstream.usesClientAddress ? parts.clientAddress(exchange) : "");
}

/** One attempt at one target: its answer, or why there is none. */
async function ask(
  exchange: Exchange,
  rule: CompiledRule,
  target: CompiledTarget,
  observed: ObservedRule,
  parts: AttemptParts,
): Promise<Answer | Error> {
  const startedAt = performance.now();
  const { timeouts } = rule.upstream;
  const facts = new AttemptFacts(observed.targets[target.index] as ObservedTarget, startedAt);
  const report = new AttemptReport(rule.upstream.plan, target.index, startedAt, facts);
  let encoded: EncodedRequest;
  let response: IncomingAnswer;
  try {
    encoded = encodeRequest(exchange, rule, target, parts.clientCredentials);
    if (exchange.trace !== null) facts.spanId = exchange.trace.beginAttempt(encoded.headers);
    response = send(encoded, timeouts);
  } catch (fault) {
    report.end("neutral");
    // Another target may speak a format that this request can be put into.
    if (fault instanceof GatehouseError && fault.code === "untranslatable") return fault;
    throw fault;
  }
  const { plainBody } = encoded;
  facts.model = cutText(encoded.model);
  exchange.attemptFacts.push(facts);
  exchange.beginAttempt(response);
  try {
    await response.arrival;
    let hidesUsage = plainBody !== null;
    if (hidesUsage && (await refusesUsageOption(response, timeouts.idle))) {
      response = send({ ...encoded, body: plainBody }, timeouts);
      exchange.replaceAttempt(response);
      await response.arrival;
      hidesUsage = false;
      // An error that only quoted the request comes again, and says nothing about the option.
      if (response.ok) rememberRefusal(target);
    }
    const now = performance.now();
    const firstByteMs = now - startedAt;
    facts.status = response.status;
    facts.firstByteAt = now;
    if (response.ok) report.answered(firstByteMs, now);
    if (response.status === 429) restAsAsked(report, response, now);
    const answer = new Answer(target, response, encoded, report, firstByteMs, hidesUsage);
    const opening = answer.open(timeouts.idle);
    if (opening !== null) await opening;
    if (exchange.trace !== null) facts.responseModel = modelIn(answer.opening);
    if (FAILOVER.has(response.status)) report.end(verdictOf(response.status));
    return answer;
  } catch (cause) {
    const fault = cause instanceof UpstreamFault ? cause : new UpstreamFault("cut", cause);
    facts.fault = fault.kind;
    // An answer that is refused may still be coming.
    response.cancel();
    report.end(fault.kind === "client_left" ? "neutral" : "failed");
    return fault;
  }
}

function restAsAsked(report: AttemptReport, response: IncomingAnswer, now: number): void {
  const asked = response.headers.get("retry-after");
  if (asked === null) return;
  const seconds = /^\d+$/.test(asked) ? Number(asked) : (Date.parse(asked) - Date.now()) / 1000;
  if (seconds > 0) report.rest(seconds * 1000, now);
}

/** Refused, or broken off before the answer was there: worth one more try at the same target. */
function isBroken(result: Answer | Error): boolean {
  return result instanceof UpstreamFault && (result.kind === "unreachable" || result.kind === "broken");
}

export function noHealthyTarget(retryAfterMs: number): GatehouseError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return new GatehouseError("no_healthy_target", "Every target is out for now; try again later.", {
    headers: { "Retry-After": String(seconds) },
  });
}
