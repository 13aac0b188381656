// The Exchange: all that is known of one request while it walks. One object, every field set in its constructor, so
// that all exchanges have one shape; each step fills in what it learned.
import type { Server } from "bun";
import type { JsonObject } from "../base/json.ts";
import type { RequestTarget } from "../base/request-target.ts";
import type { CompiledApiKey, CompiledGateway } from "../snapshot/compile.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { Snapshot } from "../snapshot/snapshot.ts";
import { UpstreamFault } from "../upstream/upstream-fault.ts";
import type { Answer } from "./answer.ts";

/** How the answer ended, as the access line tells it. */
export type Outcome = "complete" | "incomplete" | "client_left" | "failed";

export class Exchange {
  readonly request: Request;
  readonly server: Server<undefined>;
  /** Taken once: a request sees one configuration from beginning to end. */
  readonly snapshot: Snapshot;
  readonly requestId: string;
  readonly startedAt: number;
  readonly method: string;
  readonly path: string;
  /** With its question mark, or empty. */
  readonly query: string;

  apiKey: CompiledApiKey | null = null;
  gateway: CompiledGateway | null = null;
  rule: CompiledRule | null = null;

  body: Uint8Array | null = null;
  /** The body as text and as an object, where it is a JSON object. */
  bodyText: string | null = null;
  json: JsonObject | null = null;
  /** What the client asked for. */
  model: string | null = null;

  attempts = 0;
  /** The one that goes to the client. */
  answer: Answer | null = null;
  /** Ends the attempt under way. */
  #abort: AbortController | null = null;
  #totalTimer: Timer | null = null;
  /** The client has left or the total time is up: nothing more is tried. */
  isOver = false;
  hasClientLeft = false;
  finished = false;

  constructor(
    request: Request,
    server: Server<undefined>,
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
  }

  beginAttempt(): AbortController {
    const abort = new AbortController();
    this.attempts++;
    this.#abort = abort;
    if (this.isOver) abort.abort();
    return abort;
  }

  /** The time for all of it. Resolves never, and rejects when it is up. */
  limitTotal(milliseconds: number): Promise<never> {
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    this.#totalTimer = setTimeout(() => {
      const fault = new UpstreamFault("total_timeout");
      this.isOver = true;
      this.#abort?.abort(fault);
      reject(fault);
    }, milliseconds);
    return promise;
  }

  clientLeft(): void {
    this.isOver = true;
    this.hasClientLeft = true;
    this.#abort?.abort();
  }

  release(): void {
    if (this.#totalTimer !== null) clearTimeout(this.#totalTimer);
  }
}
