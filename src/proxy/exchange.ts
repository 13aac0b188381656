// The Exchange: the state of one request and its response. Every field is set in the constructor, so that all exchanges
// have the same object shape; each step fills in its results.
import { NOT_A_MEMBER, type DenseSetMember } from "../base/dense-set.ts";
import type { Clock, ClockTimer } from "../base/clock.ts";
import type { FirstContent } from "../formats/first-content.ts";
import type { Endpoint } from "../formats/operations.ts";
import { fieldNameOf, type HeaderFields } from "../http/header-fields.ts";
import type { ForwardedBody } from "../http/forwarded-body.ts";
import type { IncomingBody } from "../http/incoming-body.ts";
import { requestTargetOf, type RequestTarget } from "../http/request-target.ts";
import type { ClientRequest, DisconnectListener } from "../http/server/client-request.ts";
import type { CompiledApiKey, CompiledGateway } from "../snapshot/compile.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { Snapshot } from "../snapshot/snapshot.ts";
import type { UpstreamResponse } from "../upstream/upstream-response.ts";
import type { BodyCapture } from "../telemetry/requests/body-capture.ts";
import type { PluginRun } from "../telemetry/metrics/observed-plugin.ts";
import type { ObservedRule } from "../telemetry/metrics/observed-route.ts";
import type { AttemptFacts } from "../telemetry/requests/request-facts.ts";
import type { RequestTrace } from "../telemetry/traces/request-trace.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import type { KnownCandidates } from "./known-candidates.ts";
import type { KnownEstimates, KnownSize } from "./budgets/request-size.ts";
import type { ReservedClaims } from "./budgets/reserved-claims.ts";
import type { DrainedCalls } from "./drained-calls.ts";
import type { Hedge } from "./hedging/hedge.ts";
import type { PluginWork } from "./plugin-work.ts";
import type { GameDayRequest } from "./game-day-request.ts";
import type { Recording } from "./reuse/recording.ts";
import type { ReusedResponse } from "./reuse/reused-response.ts";
import type { ClientHandshake } from "./realtime/client-handshake.ts";
import type { ShadowRequest } from "./shadow/shadow-request.ts";
import type { McpRequest } from "./mcp/mcp-request.ts";
import { NO_FIELDS, type BodyFields, type RequestBody } from "./request-body.ts";
import { ResponseHeaders } from "./response-headers.ts";
import type { StoredAt } from "./stored-ids/stored-at.ts";
import type { LimitNumbers } from "./token-limit-headers.ts";
import type { Translations } from "./translations.ts";
import type { TargetResponse } from "./target-response.ts";
import { RequestSample } from "../usage/request-sample.ts";
import type { VirtualRoute } from "./virtual-models/virtual-route.ts";
import type { Usage } from "../usage/usage-accumulator.ts";

export class Exchange implements DenseSetMember, DisconnectListener {
  readonly request: ClientRequest;
  /** Taken once: a request uses one configuration from its start to its end. */
  readonly snapshot: Snapshot;
  readonly requestId: string;
  readonly clock: Clock;
  /** A time of the clock, as all times of an exchange are. */
  readonly startedAt: number;
  readonly method: string;
  readonly path: string;
  /** Why the path must not be routed; null if it may. */
  readonly pathProblem: string | null;
  /** Includes the question mark; empty if there is no query. */
  readonly query: string;
  /** Null until it is first needed; see client-address.ts. */
  clientAddress: string | null = null;
  apiKey: CompiledApiKey | null = null;
  gateway: CompiledGateway | null = null;
  rule: CompiledRule | null = null;
  /** What the path names; null if it names no operation, or if no target of the rule needs to know. */
  endpoint: Endpoint | null = null;
  /** The body while it is being read, and its share of the memory budget afterwards; null if there is none. */
  incomingBody: IncomingBody | null = null;
  /** A body that is sent to the target while it arrives. Then `incomingBody` and `body` are null. Null if there is none. */
  upload: ForwardedBody | null = null;
  /** Null if there is none, and after `releaseBody`. */
  body: RequestBody | null = null;
  /** Plugins that may still refer to the memory of the body. */
  bodyViews = 0;
  /** Fields of the body; they stay available after `releaseBody`. */
  fields: BodyFields = NO_FIELDS;
  /** For an estimate of the input after `releaseBodyWithSample`; null if there is no JSON object. */
  requestSample: RequestSample | null = null;
  /** The size of a body that is no JSON object, such as a form with a file, for the same estimate; 0 if there is none. */
  opaqueBytes = 0;
  /** What is sent to the provider: the client's values unless a plugin changed them. Null headers: not computed yet. */
  sentPath: string;
  sentQuery: string;
  sentHeaders: Record<string, string> | null = null;
  #ownHeaders: ResponseHeaders | null = null;
  #notes: Map<string, Map<string, unknown>> | null = null;
  /** Where the stored objects are that the request names; null if it names none. */
  storedAt: StoredAt | null = null;
  /** Which targets of a virtual model serve the request, in which order; null if it is for another model. */
  route: VirtualRoute | null = null;
  /** Translations of a large body; null if there are none. */
  translations: Translations | null = null;
  /** Null unless a game day affects the request. */
  gameDay: GameDayRequest | null = null;
  /** What the request has reserved of limits and budgets; null if nothing. */
  reserved: ReservedClaims | null = null;
  /** The token limit that the client sees in `x-ratelimit-*-tokens`; null if no plugin has reported one. */
  tokenLimit: LimitNumbers | null = null;
  /** The targets that may get the request as it is now, which several steps need; null until one does. */
  knownCandidates: KnownCandidates | null = null;
  knownSize: KnownSize | null = null;
  knownEstimates: KnownEstimates | null = null;
  /** The gateway itself did what the request asks for: limits count the request, although no provider gets it. */
  isServedHere = false;
  /** Records the response for later requests; null if it is not reused. */
  recording: Recording | null = null;
  /** The response of another request, which serves this one; null if there is none. */
  reused: ReusedResponse | null = null;
  /** Called if the request ends early while it waits for the response to another one; null if it does not wait. */
  onOver: (() => void) | null = null;
  attempts = 0;
  /** The upstream response that is relayed to the client. */
  response: TargetResponse | null = null;
  /** Null if the response is not streamed. */
  firstContent: FirstContent | null = null;
  /** Tokens that the provider reported; set when its response has ended. */
  usage: Usage | null = null;
  /** In nano-dollars; null if the price or the tokens are unknown. */
  costNanos: number | null = null;
  /** For telemetry: the rule's series, the upstream attempts, the time until the body was read, the plugin runs. */
  observed: ObservedRule | null = null;
  readonly attemptFacts: AttemptFacts[] = [];
  bodyMs = 0;
  /** For Server-Timing: the time until the API key was checked (null before), and the time spent on translating bodies. */
  authMs: number | null = null;
  translateMs = 0;
  pluginRuns: PluginRun[] | null = null;
  /** What plugins do while the request is sent to a provider; null if nothing. */
  pluginWork: PluginWork | null = null;
  /** The plugins in shadow mode on this request; null if none runs. */
  shadow: ShadowRequest | null = null;
  /** Code of the error response that the gateway or a plugin returned. */
  errorCode: string | null = null;
  /** Null unless the gateway records bodies (`log_bodies`). */
  bodies: BodyCapture | null = null;
  trace: RequestTrace | null = null;
  /** Null if the client requests no WebSocket. */
  handshake: ClientHandshake | null = null;
  /** Null unless the rule leads to MCP servers. */
  mcp: McpRequest | null = null;
  /** The usage is in the totals and metrics already: that of a WebSocket is recorded while it is open. */
  isUsageRecorded = false;
  /** The second attempt that was sent because the first one had no content; null if there is none. */
  hedge: Hedge | null = null;
  /** The id of the request that this one is a copy of, for the mirror of a virtual model; null for requests of clients. */
  mirrorOf: string | null = null;

  /** The upstream attempt in progress, or the last one. */
  #attempt: UpstreamResponse | null = null;
  /** The second attempt in progress of a hedged request, or the last one. */
  #hedgeAttempt: UpstreamResponse | null = null;
  #totalTimer: ClockTimer | null = null;
  /** Rejects when the total timeout expires, and never resolves; null without a total timeout. */
  totalTimeout: Promise<never> | null = null;
  /** The client has disconnected or the total timeout has expired: no further attempt is made. */
  isOver = false;
  isClientDisconnected = false;
  /** What the client did when it left, if the provider is read on for its usage: it `waited` for the response, or `read` it. */
  drained: "waited" | "read" | null = null;
  drainedCalls: DrainedCalls | null = null;
  finished = false;
  setPosition = NOT_A_MEMBER;

  constructor(
    request: ClientRequest,
    snapshot: Snapshot,
    requestId: string,
    clock: Clock,
    startedAt = clock.now(),
    target: RequestTarget = requestTargetOf(request.target),
  ) {
    this.request = request;
    this.snapshot = snapshot;
    this.requestId = requestId;
    this.clock = clock;
    this.startedAt = startedAt;
    this.method = request.method;
    this.path = target.path;
    this.pathProblem = target.pathProblem;
    this.query = target.query;
    this.sentPath = target.path;
    this.sentQuery = target.query;
  }

  setBody(body: RequestBody): void {
    this.body = body;
    const fields = (this.fields = body.fields);
    this.opaqueBytes = fields.isObject ? 0 : body.bytes.byteLength;
    const { model = null, wantsStream } = this.endpoint ?? {};
    // The path decides: the provider does not read the model of the body.
    if (model !== null) this.fields = { ...fields, model, wantsStream: wantsStream ?? fields.wantsStream };
  }

  /** Releases the body while its response is relayed: the usage of the response may have to be estimated. */
  releaseBodyWithSample(): void {
    if (this.body !== null && this.fields.isObject) this.requestSample = new RequestSample(this.body.bytes);
    this.releaseBody();
  }

  /** Call when no further attempt needs the body: a response may stream for minutes, and prompts are large. */
  releaseBody(): void {
    const { incomingBody } = this;
    if (incomingBody !== null) {
      if (this.#ownsBody()) incomingBody.free();
      incomingBody.release();
    }
    this.body = null;
    this.translations = null;
    this.incomingBody = null;
  }

  /** Whether nothing else refers to the memory of the body: no plugin has it, it is not captured, and it has been sent. */
  #ownsBody(): boolean {
    if (this.bodies !== null || this.shadow !== null || this.bodyViews > 0) return false;
    if (this.#hedgeAttempt?.holdsBody === true) return false;
    return this.body !== null && this.#attempt !== null && !this.#attempt.holdsBody;
  }

  /** The headers of the response to the client, whether a provider, a plugin, or the gateway produces it. */
  get ownHeaders(): ResponseHeaders {
    return (this.#ownHeaders ??= new ResponseHeaders());
  }

  setResponseHeader(name: string, value: string): void {
    this.ownHeaders.set(fieldNameOf(name), value);
  }

  addResponseHeaders(headers: HeaderFields): void {
    if (this.#ownHeaders !== null || this.tokenLimit !== null)
      this.ownHeaders.addTo(headers, this.tokenLimit, this.clock.unixNow());
  }

  /** Returns the notes of a plugin on this request, which it keeps from one stage to the next. */
  notesOf(notesKey: string): Map<string, unknown> {
    const all = (this.#notes ??= new Map<string, Map<string, unknown>>());
    let notes = all.get(notesKey);
    if (notes === undefined) all.set(notesKey, (notes = new Map<string, unknown>()));
    return notes;
  }

  /** For a copy of an exchange: shares the notes of plugins and starts with the response headers that are set so far. */
  adopt(original: Exchange): void {
    this.#notes = original.#notes ??= new Map<string, Map<string, unknown>>();
    this.#ownHeaders = original.#ownHeaders?.clone() ?? null;
  }

  beginAttempt(attempt: UpstreamResponse, isHedge: boolean): void {
    this.attempts++;
    this.replaceAttempt(attempt, isHedge);
  }

  /** Sends the same attempt again, for a reason that says nothing about the health of the target. */
  replaceAttempt(attempt: UpstreamResponse, isHedge: boolean): void {
    if (isHedge) this.#hedgeAttempt = attempt;
    else this.#attempt = attempt;
    if (this.isOver) attempt.cancel();
  }

  startTotalTimeout(milliseconds: number): void {
    const { promise, reject } = Promise.withResolvers<never>();
    // Only the reading of the body awaits this promise; without a handler its rejection would be reported as unhandled.
    promise.catch(() => undefined);
    this.totalTimeout = promise;
    this.#totalTimer = this.clock.setTimeout(() => {
      const error = new UpstreamError("total_timeout");
      this.abort(error);
      this.onOver?.();
      this.pluginWork?.abort();
      reject(error);
    }, milliseconds);
  }

  /** Aborts the attempts in progress. No further one is made. */
  abort(error: UpstreamError): void {
    this.isOver = true;
    this.#attempt?.abort(error);
    this.#hedgeAttempt?.abort(error);
  }

  /** Called by connection and relay, in any order. The request continues if others wait for its response. */
  onDisconnect(): void {
    if (this.recording?.continuesFor(() => this.#disconnect()) !== true) this.#disconnect();
  }

  #disconnect(): void {
    if (this.drainedCalls?.begin(this) === true) this.drained = this.response === null ? "waited" : "read";
    this.isOver = true;
    if (this.drained !== null || this.isClientDisconnected) return;
    this.isClientDisconnected = true;
    this.onOver?.();
    this.abort(new UpstreamError("client_left"));
    this.mcp?.abort();
    this.pluginWork?.abort();
  }

  release(): void {
    this.releaseBody();
    this.pluginWork?.abort();
    this.#totalTimer?.close();
  }
}
