// One request to one target: encoded and sent at once, then its answer, or why there is none.
import type { ValueOrPromise } from "../base/value-or-promise.ts";
import type { CompiledTarget } from "../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import { truncateText } from "../telemetry/truncate-text.ts";
import type { ObservedRule, ObservedTarget } from "../telemetry/metrics/observed-route.ts";
import { AttemptFacts } from "../telemetry/requests/request-facts.ts";
import { modelIn } from "../telemetry/traces/trace-context.ts";
import type { UpstreamResponse } from "../upstream/upstream-response.ts";
import type { UpstreamPool } from "../upstream/upstream-pool.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import { TargetResponse, verdictOf } from "./target-response.ts";
import { AttemptReport } from "./attempt-report.ts";
import type { ClientCredentials } from "./client-credential.ts";
import { encodeRequest, type AddedUsageOption, type EncodedRequest } from "./encode.ts";
import type { Exchange } from "./exchange.ts";
import { rejectsUsageOption, rememberRejection } from "../usage/usage-option.ts";

/** Answers of these are tried elsewhere; any other is the client's to see. */
export const FAILOVER: ReadonlySet<number> = new Set([429, 500, 502, 503, 504, 529]);

export interface UpstreamAttemptParts {
  readonly clientCredentials: ClientCredentials;
  readonly upstreamPool: UpstreamPool;
}

export class UpstreamAttempt {
  readonly #upstreamPool: UpstreamPool;
  readonly #exchange: Exchange;
  readonly #rule: CompiledRule;
  readonly #target: CompiledTarget;
  readonly #facts: AttemptFacts;
  readonly #report: AttemptReport;
  readonly #encoded: EncodedRequest;
  #response: UpstreamResponse;

  /** Throws a GatehouseError where the request cannot be put into the form that the target wants, or cannot be sent. */
  constructor(
    exchange: Exchange,
    rule: CompiledRule,
    target: CompiledTarget,
    observed: ObservedRule,
    { clientCredentials, upstreamPool }: UpstreamAttemptParts,
    now: number,
  ) {
    this.#upstreamPool = upstreamPool;
    this.#exchange = exchange;
    this.#rule = rule;
    this.#target = target;
    this.#facts = new AttemptFacts(observed.targets[target.index] as ObservedTarget, now);
    this.#report = new AttemptReport(rule.upstream.plan, target.index, now, this.#facts);
    try {
      this.#encoded = encodeRequest(exchange, rule, target, clientCredentials);
      if (exchange.trace !== null) this.#facts.spanId = exchange.trace.beginAttempt(this.#encoded.headers);
      this.#response = upstreamPool.send(this.#encoded, rule.upstream.timeouts);
    } catch (error) {
      this.#report.end("neutral");
      throw error;
    }
    this.#facts.model = truncateText(this.#encoded.model);
    exchange.attemptFacts.push(this.#facts);
    exchange.beginAttempt(this.#response);
  }

  /** Resolves when the head of the answer is there. */
  get arrival(): Promise<unknown> {
    return this.#response.headersReceived;
  }

  /** The answer, once its head is there; only one that is not all there is waited for. */
  answer(): ValueOrPromise<TargetResponse> {
    const { addedUsageOption } = this.#encoded;
    return addedUsageOption === null ? this.#take(false) : this.#answerWithOption(addedUsageOption);
  }

  /** Why there is none. */
  failed(cause: unknown): Error {
    const error = cause instanceof UpstreamError ? cause : new UpstreamError("cut", cause);
    this.#facts.fault = error.kind;
    // An answer that is refused may still be coming.
    this.#response.cancel();
    this.#report.end(error.kind === "client_left" ? "neutral" : "failed");
    return error;
  }

  /** Repeats the request without the usage option that the gateway added if the target rejects that option. */
  async #answerWithOption({ option, bodyWithout }: AddedUsageOption): Promise<TargetResponse> {
    const { timeouts } = this.#rule.upstream;
    if (!(await rejectsUsageOption(this.#response, option, timeouts.idle))) return this.#take(true);
    this.#response = this.#upstreamPool.send({ ...this.#encoded, body: bodyWithout }, timeouts);
    this.#exchange.replaceAttempt(this.#response);
    await this.#response.headersReceived;
    // An error that only quoted the request comes again, and says nothing about the option.
    if (this.#response.ok) rememberRejection(this.#target);
    return this.#take(false);
  }

  #take(hidesUsage: boolean): ValueOrPromise<TargetResponse> {
    const now = performance.now();
    const response = this.#response;
    const firstByteMs = now - this.#facts.startedAt;
    this.#facts.status = response.status;
    this.#facts.firstByteAt = now;
    if (response.ok) this.#report.answered(firstByteMs, now);
    if (response.status === 429) restAsAsked(this.#report, response, now);
    const answer = new TargetResponse(
      this.#target,
      response,
      this.#encoded,
      this.#report,
      firstByteMs,
      hidesUsage,
    );
    const opening = answer.open(this.#rule.upstream.timeouts.idle);
    return opening === null ? this.#opened(answer) : this.#openedLater(answer, opening);
  }

  async #openedLater(answer: TargetResponse, opening: Promise<void>): Promise<TargetResponse> {
    await opening;
    return this.#opened(answer);
  }

  #opened(answer: TargetResponse): TargetResponse {
    const { status } = this.#response;
    if (this.#exchange.trace !== null) this.#facts.responseModel = modelIn(answer.opening);
    if (FAILOVER.has(status)) this.#report.end(verdictOf(status));
    return answer;
  }
}

function restAsAsked(report: AttemptReport, response: UpstreamResponse, now: number): void {
  const asked = response.headers.get("retry-after");
  if (asked === null) return;
  const seconds = /^\d+$/.test(asked) ? Number(asked) : (Date.parse(asked) - Date.now()) / 1000;
  if (seconds > 0) report.rest(seconds * 1000, now);
}
