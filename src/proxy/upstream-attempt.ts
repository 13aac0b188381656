// One attempt at one target: encodes and sends the request in its constructor, then receives the response or reports why
// there is none.
import type { HedgeState } from "../balance/hedge-state.ts";
import type { Clock, ClockTimer } from "../base/clock.ts";
import { GatehouseError } from "../base/errors.ts";
import type { ValueOrPromise } from "../base/value-or-promise.ts";
import { ResponseDetails } from "../formats/response-details.ts";
import { DEFAULT_COMMIT } from "../model/default-commit.ts";
import type { CompiledTarget } from "../snapshot/compile-upstream.ts";
import { planOf } from "./plan-of.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { ObservedRule } from "../telemetry/metrics/observed-route.ts";
import { AttemptFacts } from "../telemetry/requests/request-facts.ts";
import { modelIn } from "../telemetry/traces/trace-context.ts";
import { truncateText } from "../telemetry/truncate-text.ts";
import { CredentialError } from "../upstream/request-credential.ts";
import type { UpstreamClient } from "../upstream/upstream-client.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import type { UpstreamPool } from "../upstream/upstream-pool.ts";
import type { UpstreamResponse } from "../upstream/upstream-response.ts";
import type { Usage } from "../usage/usage-accumulator.ts";
import { rejectsAddition, withoutAddition, type Addition } from "./additions.ts";
import { BalancerReport, healthResultOf } from "./balancer-report.ts";
import type { OwnCredentials } from "./own-credentials.ts";
import { readsFilter, type EncodedRequest } from "./encode.ts";
import type { Exchange } from "./exchange.ts";
import { encodeForTarget } from "./realtime/encode-handshake.ts";
import type { IdSeal } from "./stored-ids/id-seal.ts";
import { HOLD_NOTHING, HOLD_UNTIL_CONTENT } from "./held-stream.ts";
import { TargetResponse, type Holding } from "./target-response.ts";
import { translateEarly } from "./translate-response.ts";

export interface UpstreamAttemptParts {
  readonly ownCredentials: OwnCredentials;
  readonly idSeal: IdSeal;
  readonly upstreamPool: UpstreamPool;
}

export class UpstreamAttempt {
  #client: UpstreamClient;
  readonly #exchange: Exchange;
  readonly #rule: CompiledRule;
  readonly #target: CompiledTarget;
  readonly #facts: AttemptFacts;
  readonly #report: BalancerReport;
  #encoded: EncodedRequest;
  #response: UpstreamResponse;
  /** Null if there is no limit for the first content. */
  #contentTimer: ClockTimer | null = null;
  /** The second attempt at a request that is hedged. */
  readonly #isHedge: boolean;
  #hasLost = false;
  /** Null until the headers have been received. */
  #accepted: TargetResponse | null = null;

  /** Throws a GatehouseError if the target's format cannot express the request, or the request cannot be sent. */
  constructor(
    exchange: Exchange,
    rule: CompiledRule,
    target: CompiledTarget,
    observed: ObservedRule,
    parts: UpstreamAttemptParts,
    now: number,
    isHedge: boolean,
  ) {
    const { upstreamPool } = parts;
    this.#isHedge = isHedge;
    this.#client = upstreamPool;
    this.#exchange = exchange;
    this.#rule = rule;
    this.#target = target;
    const observedTarget = observed.targets[target.index];
    if (observedTarget === undefined) throw new RangeError(`telemetry has no target number ${target.index}`);
    this.#facts = new AttemptFacts(observedTarget, now);
    this.#report = new BalancerReport(planOf(exchange, rule.upstream), target.index, now, this.#facts);
    try {
      this.#encoded = encodeForTarget(exchange, rule, target, parts);
      if (exchange.trace !== null) this.#facts.spanId = exchange.trace.beginAttempt(this.#encoded.headers);
      if (exchange.gameDay !== null)
        this.#client = exchange.gameDay.clientFor(target, this.#encoded.path, upstreamPool);
      this.#response = this.#client.send(this.#encoded, rule.upstream.timeouts, now);
    } catch (error) {
      this.#report.end("neutral", now);
      throw error;
    }
    this.#facts.model = truncateText(this.#encoded.model);
    this.#facts.translation = this.#encoded.translationFacts;
    exchange.attemptFacts.push(this.#facts);
    exchange.beginAttempt(this.#response, isHedge);
    if (rule.upstream.timeouts.first_content !== null && exchange.fields.wantsStream)
      this.#limitContent(rule.upstream.timeouts.first_content);
  }

  get headersReceived(): Promise<unknown> {
    return this.#response.headersReceived;
  }

  /** Call when the headers have been received. Returns a promise only if more of the response has to arrive first. */
  receive(): ValueOrPromise<TargetResponse> {
    const { addition } = this.#encoded;
    return addition === null ? this.#accept(false) : this.#acceptOrRepeat(addition);
  }

  /** Call if `headersReceived` or `receive` failed. Returns the error to report. */
  fail(cause: unknown): Error {
    const error = cause instanceof UpstreamError ? cause : new UpstreamError("cut", cause);
    this.#contentTimer?.close();
    this.#facts.fault = error.kind;
    this.#facts.wasSent = this.#response.wasSent;
    this.#facts.unusedUsage = this.#accepted?.unusedUsage() ?? null;
    this.#facts.cutOutputTokens = this.#accepted?.cutOutputTokens() ?? 0;
    this.#facts.wasCutWhole = this.#accepted?.isIncompleteWhole === true;
    this.#uploadedAt(this.#exchange.clock.now());
    // Bytes of a rejected response may still be arriving.
    this.#response.cancel();
    const isNeutral = error.kind === "client_left" || error.kind === "abandoned";
    this.#report.end(isNeutral ? "neutral" : "failed", this.#exchange.clock.now());
    return error.kind === "credentials" ? credentialFailure(error, this.#rule, this.#target) : error;
  }

  get facts(): AttemptFacts {
    return this.#facts;
  }

  /** Resolves to the response, or to the error to report. */
  async result(): Promise<TargetResponse | Error> {
    try {
      await this.#response.headersReceived;
      return await this.receive();
    } catch (cause) {
      return this.fail(cause);
    }
  }

  /** Aborts the attempt, because another one serves the request. Returns the usage that it has reported. */
  lose(): Usage | null {
    const now = this.#exchange.clock.now();
    const usage = this.#accepted?.usageSoFar() ?? null;
    const elapsedMs = now - this.#facts.startedAt;
    this.#contentTimer?.close();
    // An error response has ended the attempt before, and costs nothing.
    if (this.#response.status < 400) this.#facts.fault ??= "hedge_lost";
    this.#hasLost = true;
    this.#facts.wasCutWhole = this.#accepted?.isIncompleteWhole === true;
    this.#facts.wasSent = this.#response.wasSent;
    if (!this.#isHedge) {
      if (this.#isHedgedByPercentile) this.#recordTime(elapsedMs);
      if (this.#accepted === null) this.#report.wasSlow(elapsedMs, now);
    }
    this.#report.end("neutral", now);
    this.#response.abort(new UpstreamError("hedge_lost"));
    return usage;
  }

  /** Repeats the request without what the gateway added if the target rejects that. */
  async #acceptOrRepeat(addition: Addition): Promise<TargetResponse> {
    const { timeouts } = this.#rule.upstream;
    if (!(await rejectsAddition(this.#response, addition, timeouts.idle)))
      return this.#accept(addition.hidesUsage);
    // Otherwise the repeated request would be sent for an attempt whose response is not used.
    if (this.#hasLost) throw new UpstreamError("hedge_lost");
    const now = this.#exchange.clock.now();
    this.#encoded = withoutAddition(this.#encoded, addition);
    this.#facts.translation = this.#encoded.translationFacts;
    this.#response = this.#client.send(this.#encoded, timeouts, now);
    this.#exchange.replaceAttempt(this.#response, this.#isHedge);
    await this.#response.headersReceived;
    // An error that merely quoted the request occurs again, and says nothing about the addition.
    if (this.#response.ok) addition.memory.add(this.#target, now);
    return this.#accept(false);
  }

  #accept(hidesUsage: boolean): ValueOrPromise<TargetResponse> {
    const { clock } = this.#exchange;
    const now = clock.now();
    const response = this.#response;
    const firstByteMs = now - (this.#uploadedAt(now) ?? this.#facts.startedAt);
    this.#facts.status = response.status;
    this.#facts.firstByteAt = now;
    if (response.ok || response.writer !== null) this.#report.responseStarted(firstByteMs, now);
    if (response.status === 429) {
      applyRetryAfter(this.#report, response, clock);
      if (this.#rule.upstream.hedge !== null) this.#hedging.recordRateLimit(now);
    }
    const accepted = new TargetResponse(
      this.#target,
      response,
      this.#encoded,
      this.#report,
      firstByteMs,
      hidesUsage,
    );
    this.#accepted = accepted;
    const holding = response.ok && accepted.isStream ? this.#holding() : null;
    if (holding === null) this.#contentTimer?.close();
    const opening = accepted.open(this.#rule.upstream.timeouts.idle, holding);
    return opening === null ? this.#complete(accepted) : this.#completeAfter(opening, accepted);
  }

  #limitContent(milliseconds: number): void {
    const expire = () => this.#response.abort(new UpstreamError("first_content_timeout"));
    this.#contentTimer = this.#exchange.clock.setTimeout(expire, milliseconds);
  }

  /** Returns how the start of a stream is held; null if it need not be read before it is relayed. */
  #holding(): Holding | null {
    const { commit, hedge } = this.#rule.upstream;
    const isRead = this.#encoded.translation !== null || readsFilter(this.#exchange);
    const standard = isRead ? DEFAULT_COMMIT : HOLD_NOTHING;
    const limits = hedge === null ? (commit ?? standard) : HOLD_UNTIL_CONTENT;
    if (limits.max_ms === 0 && this.#contentTimer === null) return null;
    const onContent = () => this.#contentTimer?.close();
    return { limits, clock: this.#exchange.clock, onContent };
  }

  get #hedging(): HedgeState {
    return planOf(this.#exchange, this.#rule.upstream).hedging;
  }

  /** Whether requests are hedged after a percentile of the times. */
  get #isHedgedByPercentile(): boolean {
    return this.#rule.upstream.hedge?.after === "p95";
  }

  #recordTime(milliseconds: number): void {
    this.#hedging.recordTime(this.#encoded.model, this.#exchange.fields.wantsStream, milliseconds);
  }

  /** Returns when the body was forwarded completely; null if it was in memory or is not complete. Sets the time that it took. */
  #uploadedAt(now: number): number | null {
    const { upload, startedAt } = this.#exchange;
    if (upload === null) return null;
    this.#exchange.bodyMs = (upload.endedAt ?? now) - startedAt;
    return upload.endedAt;
  }

  async #completeAfter(opening: Promise<void>, response: TargetResponse): Promise<TargetResponse> {
    await opening;
    return this.#complete(response);
  }

  #complete(response: TargetResponse): TargetResponse {
    const { status } = this.#response;
    if (this.#exchange.trace !== null) {
      const { detailsReader } = this.#encoded;
      if (!detailsReader.readsModel) this.#facts.responseModel = modelIn(response.firstBytes);
      if (this.#response.ok) this.#facts.details = response.details = new ResponseDetails(detailsReader);
    }
    // An attempt that has lost may still have received everything.
    if (this.#isHedgedByPercentile && this.#response.ok && this.#facts.fault === null)
      this.#recordTime(this.#exchange.clock.now() - this.#facts.startedAt);
    if (response.translation !== null) translateEarly(response, response.translation, this.#exchange);
    if (response.failure !== null) {
      this.#facts.fault ??= "error_event";
      this.#facts.unusedUsage = response.unusedUsage();
    }
    const result = response.failure === null ? healthResultOf(status) : "failed";
    if (response.isRetried) this.#report.end(result, this.#exchange.clock.now());
    return response;
  }
}

/** The request was not sent, so that a retry does not count against the retry budget, as with every GatehouseError. */
function credentialFailure(
  { cause }: UpstreamError,
  { upstream }: CompiledRule,
  { index, provider }: CompiledTarget,
): GatehouseError {
  const reason = cause instanceof CredentialError ? `: ${cause.message}` : "";
  const target = `target ${index + 1} (${provider}) of upstream "${upstream.name}"`;
  return new GatehouseError("upstream_credentials", `No credentials for ${target}${reason}.`, { cause });
}

/** Retry-After is a number of seconds or an HTTP date (RFC 9110, 10.2.3). */
function applyRetryAfter(report: BalancerReport, response: UpstreamResponse, clock: Clock): void {
  const retryAfter = response.headers.get("retry-after");
  if (retryAfter === null) return;
  const isSeconds = /^\d+$/.test(retryAfter);
  const seconds = isSeconds ? Number(retryAfter) : (Date.parse(retryAfter) - clock.unixNow()) / 1000;
  if (seconds > 0) report.rest(seconds * 1000, clock.now());
}
