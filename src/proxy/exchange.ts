// The Exchange: all that is known of one request while it walks. One object, every field set in its constructor, so
// that all exchanges have one shape; each step fills in what it learned.
import type { Server } from "bun";
import type { JsonObject } from "../base/json.ts";
import { KEEP_ALIVE_SECONDS } from "../http/keep-alive.ts";
import type { RequestTarget } from "../http/request-target.ts";
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
import type { TargetResponse } from "./target-response.ts";
import type { Usage } from "../usage/usage.ts";

/** How the answer ended, as the access line tells it. */
export type Outcome = "complete" | "incomplete" | "client_left" | "failed";

/** What of the listener a request still needs once it walks: where it came from, and the clock of its connection. */
export type Listener = Pick<Server<undefined>, "requestIP" | "timeout">;

const decoder = new TextDecoder("utf-8", { fatal: true });

export class Exchange {
  readonly request: Request;
  readonly server: Listener;
  /** Taken once: a request sees one configuration from beginning to end. */
  readonly snapshot: Snapshot;
  readonly requestId: string;
  readonly startedAt: number;
  readonly method: string;
  readonly path: string;
  /** With its question mark, or empty. */
  readonly query: string;

  /** Null: nobody has asked yet. */
  clientAddress: string | null = null;
  apiKey: CompiledApiKey | null = null;
  gateway: CompiledGateway | null = null;
  rule: CompiledRule | null = null;

  body: Uint8Array | null = null;
  isJson = false;
  /** The body as text, where it is JSON; see `text()` for any other. */
  bodyText: string | null = null;
  /** Where it is a JSON object. */
  json: JsonObject | null = null;
  /** What the client asked for. */
  model: string | null = null;
  wantsStream = false;

  /** What goes to the provider; the client's own unless a plugin changed it. Null headers: nobody has looked yet. */
  sentPath: string;
  sentQuery: string;
  sentHeaders: Record<string, string> | null = null;
  /** Names and values in turn: a few, for which a Map costs more than looking through them. */
  #answerHeaders: string[] | null = null;
  #notes: Map<string, Map<string, unknown>> | null = null;

  attempts = 0;
  /** The one that goes to the client. */
  response: TargetResponse | null = null;
  /** Tokens that the provider told of, once its answer has ended. */
  usage: Usage | null = null;
  /** US dollars, where the price is known. */
  cost: number | null = null;

  /** For those who observe: what telemetry keeps of the rule, what was tried, how long the body took, who ran. */
  observed: ObservedRule | null = null;
  readonly attemptFacts: AttemptFacts[] = [];
  bodyMs = 0;
  pluginRuns: PluginRun[] | null = null;
  /** Of the error that the gateway or a plugin answered. */
  errorCode: string | null = null;
  /** Null: the gateway does not ask for bodies. */
  bodies: BodyCapture | null = null;
  /** Null: it is not traced. */
  trace: RequestTrace | null = null;

  /** The attempt under way, or the last one. */
  #attempt: UpstreamResponse | null = null;
  #totalTimer: Timer | null = null;
  /** The client has left or the total time is up: nothing more is tried. */
  isOver = false;
  isClientDisconnected = false;
  finished = false;

  constructor(
    request: Request,
    server: Listener,
    snapshot: Snapshot,
    requestId: string,
    target: RequestTarget,
  ) {
    this.request = request;
    this.server = server;
    this.snapshot = snapshot;
    this.requestId = requestId;
    this.startedAt = performance.now();
    this.method = request.method;
    this.path = target.path;
    this.query = target.query;
    this.sentPath = target.path;
    this.sentQuery = target.query;
  }

  /** The body as text, where it is valid UTF-8. */
  text(): string | null {
    if (this.bodyText === null && this.body !== null) {
      try {
        this.bodyText = decoder.decode(this.body);
      } catch {
        return null;
      }
    }
    return this.bodyText;
  }

  /** No attempt will need it again: an answer may take minutes to pass, and prompts are large. */
  releaseBody(): void {
    this.body = this.bodyText = this.json = null;
  }

  /** A header for the client's answer, whoever gives it. */
  setResponseHeader(name: string, value: string): void {
    const given = (this.#answerHeaders ??= []);
    let at = 0;
    while (at < given.length && given[at] !== name) at += 2;
    given[at] = name;
    given[at + 1] = value;
  }

  addResponseHeaders(headers: Headers): void {
    const given = this.#answerHeaders;
    if (given === null) return;
    for (let at = 0; at < given.length; at += 2) headers.set(given[at] as string, given[at + 1] as string);
  }

  /** What a plugin noted on this request, kept from stage to stage. */
  notesOf(instanceId: string): Map<string, unknown> {
    const all = (this.#notes ??= new Map<string, Map<string, unknown>>());
    let own = all.get(instanceId);
    if (own === undefined) all.set(instanceId, (own = new Map<string, unknown>()));
    return own;
  }

  beginAttempt(attempt: UpstreamResponse): void {
    this.attempts++;
    this.replaceAttempt(attempt);
  }

  /** The same attempt once more, for a reason that is none of the provider's health. */
  replaceAttempt(attempt: UpstreamResponse): void {
    this.#attempt = attempt;
    if (this.isOver) attempt.cancel();
  }

  /** The time for all of it. Resolves never, and rejects when it is up. */
  limitTotal(milliseconds: number): Promise<never> {
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    this.#totalTimer = setTimeout(() => {
      const error = new UpstreamError("total_timeout");
      this.isOver = true;
      this.#attempt?.abort(error);
      reject(error);
    }, milliseconds);
    return promise;
  }

  /** The request's signal tells that the client has left. */
  handleEvent(): void {
    this.isOver = true;
    this.isClientDisconnected = true;
    this.#attempt?.cancel();
  }

  release(): void {
    if (this.#totalTimer !== null) clearTimeout(this.#totalTimer);
    this.server.timeout(this.request, KEEP_ALIVE_SECONDS);
  }
}
