// Sends a copy of a request to a mirror, reads the response to its end, and records what it cost. Loaded with the first copy.
import { GatehouseError } from "../../base/errors.ts";
import { isPromise } from "../../base/value-or-promise.ts";
import { FirstContent } from "../../formats/first-content.ts";
import type { CompiledMirror } from "../../snapshot/compile-mirror.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import type { Outcome } from "../../telemetry/requests/request-facts.ts";
import type { SkippedMirror } from "../../telemetry/metrics/virtual-model-metrics.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import { tapResponse, type UsageTap } from "../../usage/usage-tap.ts";
import { prepareTranslations, translationTasks } from "../attempt.ts";
import { healthResultOf } from "../balancer-report.ts";
import { reserveForGateway } from "../budgets/reserve-for-gateway.ts";
import { beginCapture, captureUpstreamResponse } from "../capture-bodies.ts";
import type { Exchange } from "../exchange.ts";
import { toGatehouseError } from "../fail.ts";
import { factsOf } from "../finish.ts";
import { isRepeatable } from "../hedging/hedgeable.ts";
import { observeRule } from "../observe-rule.ts";
import { addToTotals, hasUsage, settleReceived } from "../record-usage.ts";
import { UpstreamAttempt } from "../upstream-attempt.ts";
import { settleWithoutResponse } from "../usage-without-response.ts";
import type { TargetResponse } from "../target-response.ts";
import { isLarge } from "../translations.ts";
import { mirrorTargets } from "./mirrorable.ts";
import type { MirrorParts } from "./mirror-parts.ts";

/** The time for a copy, unless `timeouts.total` of the upstream is shorter. */
const MAX_COPY_MS = 600_000;

interface SentCopy {
  readonly copy: Exchange;
  readonly mirror: CompiledMirror;
  /** Of the virtual model, and as the client requested it. */
  readonly name: string;
  readonly requested: string;
  /** Call when the copy no longer needs its body. */
  readonly releaseBody: () => void;
}

export async function sendCopy(sent: SentCopy, parts: MirrorParts): Promise<void> {
  const { copy, name } = sent;
  const { rule, gateway } = copy;
  if (rule === null || gateway === null) throw new Error("a copy has no rule");
  copy.startTotalTimeout(Math.min(rule.upstream.timeouts.total ?? Infinity, MAX_COPY_MS));
  try {
    const attempt = await start(sent, rule, parts);
    if (!(attempt instanceof UpstreamAttempt)) {
      copy.reserved?.reservation.release();
      parts.observation.routes.gateway(gateway, gateway.gateway.name).countSkippedMirror(name, attempt);
      return;
    }
    await receive(sent, attempt, parts);
  } finally {
    copy.finished = true;
    copy.release();
  }
}

/** Resolves to why no copy is sent, or to the only attempt. */
async function start(
  { copy, mirror }: SentCopy,
  rule: CompiledRule,
  parts: MirrorParts,
): Promise<UpstreamAttempt | SkippedMirror> {
  const { upstream } = rule;
  const { body, gateway } = copy;
  const targets = mirrorTargets(copy, rule, mirror, parts.ownCredentials);
  if ("reason" in targets) return targets.reason;
  if (gateway === null || !(await isRepeatable(copy, rule, targets, parts))) return "unsuitable";
  try {
    if (isLarge(body)) await prepareTranslations(copy, body, translationTasks(copy, rule), parts);
    if (!(await reserveForGateway(copy, rule, parts))) return "budget";
    if (copy.isOver) return "stopped";
    const now = copy.clock.now();
    const target = upstream.targets[upstream.plan.pick(targets, [], null, 0, now)];
    if (target === undefined) return "unavailable";
    if (gateway.gateway.log_bodies && parts.observation.recordsBodies) beginCapture(copy);
    copy.bodies?.takeRequest(body?.bytes ?? null);
    copy.observed = observeRule(parts.observation, gateway, rule);
    const attempt = new UpstreamAttempt(copy, rule, target, copy.observed, parts, now, false);
    attempt.facts.purpose = "mirror";
    return attempt;
  } catch (error) {
    if (error instanceof GatehouseError) return "unsuitable";
    throw error;
  }
}

async function receive(sent: SentCopy, attempt: UpstreamAttempt, parts: MirrorParts): Promise<void> {
  const { copy } = sent;
  const result = await attempt.result();
  let status: number;
  let outcome: Outcome;
  if (result instanceof Error) {
    const error = toGatehouseError(result, copy.requestId, parts.log);
    status = error.status;
    outcome = "failed";
    copy.errorCode = error.code;
    settleWithoutResponse(copy, parts);
  } else {
    status = result.upstreamResponse.status;
    copy.response = result;
    copy.releaseBodyWithSample();
    sent.releaseBody();
    if (copy.bodies !== null) captureUpstreamResponse(copy.bodies, result);
    outcome = await discard(copy, result, parts);
    const health = outcome === "complete" ? healthResultOf(status) : "failed";
    result.report.end(health, copy.clock.now());
  }
  record(sent, attempt, outcome, status, parts);
}

/** Reads the response to its end for its usage. */
async function discard(copy: Exchange, response: TargetResponse, parts: MirrorParts): Promise<Outcome> {
  const tap = tapResponse(response);
  const { reader, body, isStream, contentReader } = response;
  if (isStream) copy.firstContent = new FirstContent(contentReader, copy.clock);
  copy.bodies?.takeResponse(body);
  let isComplete = true;
  try {
    for (let chunk = await nextOf(reader); chunk !== null; chunk = await nextOf(reader))
      await take(copy, chunk, tap);
    await tap?.end();
  } catch (error) {
    isComplete = false;
    reader?.cancel();
    tap?.abort();
    if (response.report.facts !== null)
      response.report.facts.fault = error instanceof UpstreamError ? error.kind : "cut";
  }
  settleReceived(copy, response, tap, isComplete, parts);
  return isComplete ? "complete" : "incomplete";
}

async function nextOf(reader: TargetResponse["reader"]): Promise<Uint8Array | null> {
  return reader === null ? null : reader.next();
}

function take(
  { bodies, firstContent }: Exchange,
  chunk: Uint8Array,
  tap: UsageTap | null,
): Promise<unknown> | undefined {
  bodies?.takeResponse(chunk);
  if (firstContent !== null && firstContent.isSearching) firstContent.push(chunk);
  const tapped = tap?.push(chunk);
  return isPromise(tapped) ? tapped : undefined;
}

/** The caller is not billed: neither its API key nor its labels have the usage. */
function record(
  { copy, mirror, name, requested }: SentCopy,
  { facts }: UpstreamAttempt,
  outcome: Outcome,
  status: number,
  { reservations, usageTotals, observation }: MirrorParts,
): void {
  const { gateway, rule, usage, costNanos, clock } = copy;
  if (hasUsage(copy)) {
    const call = { model: facts.model, provider: facts.target.provider, purpose: "mirror" } as const;
    addToTotals({ gateway, rule, apiKey: null }, call, usage, costNanos, usageTotals);
  }
  if (copy.reserved !== null) reservations.settle(copy, copy.reserved, clock.now());
  observation.mirrored({
    ...factsOf(copy, outcome, status, clock.now(), clock.unixNow(), observation),
    requestedModel: requested,
    virtualModel: {
      name,
      target: mirror.model,
      fallback: null,
      reason: null,
      canary: null,
      cacheSavings: 0,
    },
  });
}
