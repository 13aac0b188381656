// Records the response to a request, to keep it for later requests and to share it with those that wait for it.
import type { Clock } from "../../base/clock.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { assembleStream, assemblyOf } from "../../formats/assembly/stream-assembly.ts";
import type { FormatName } from "../../formats/format-names.ts";
import type { Operation } from "../../formats/operations.ts";
import { KeptStreams, type KeptResponse } from "../../runtime/responses/kept-response.ts";
import type { OpenedResponses } from "../../runtime/responses/response-stores.ts";
import type { Outcome } from "../../telemetry/requests/request-facts.ts";
import type { Usage } from "../../usage/usage-accumulator.ts";
import type { TargetResponse } from "../target-response.ts";
import { parseJson } from "../translate-whole.ts";
import type { Flight } from "./flight.ts";

/** Others are never kept. */
const KEPT_OPERATIONS: ReadonlySet<Operation> = new Set([
  "embeddings",
  "rerank",
  "moderations",
  "count_tokens",
  "chat",
  "messages",
  "responses",
  "completions",
]);

/** What a response is, in the format in which the client gets it. */
export interface ResponseKind {
  readonly operation: Operation;
  readonly format: FormatName;
}

interface RecordingOptions {
  readonly store: OpenedResponses;
  readonly key: string;
  readonly ttlMs: number;
  /** Null if no other request may wait for the response. */
  readonly flight: Flight | null;
  /** Whether the response is kept. */
  readonly keeps: boolean;
  readonly streamKey: string | null;
}

/** What is known when a request has ended. */
interface EndedRequest {
  readonly usage: Usage | null;
  readonly costNanos: number | null;
  readonly clock: Clock;
}

export class Recording {
  readonly #options: RecordingOptions;
  #response: TargetResponse | null = null;
  #kind: ResponseKind | null = null;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #isOver = false;
  #isEnded = false;
  /** That of the store before the request is sent. */
  #generation: string;

  constructor(options: RecordingOptions) {
    this.#options = options;
    this.#generation = options.store.generation;
  }

  /** Call before the request is sent, when its response was looked up: then the store knows of purges at other nodes. */
  updateGeneration(): void {
    const { flight, store } = this.#options;
    this.#generation = store.generation;
    if (flight !== null) flight.generation = this.#generation;
  }

  /** The response is still recorded, and others wait for it: it does not have to wait for its own client. */
  get runsAhead(): boolean {
    return !this.#isOver && this.#options.flight?.hasWaiters === true;
  }

  /** Returns whether the request continues without its client, because others wait for it. `stop` is called when none does any more. */
  continuesFor(stop: () => void): boolean {
    const flight = this.#options.flight;
    if (this.#isEnded || flight === null || !flight.hasWaiters) return false;
    flight.whenUnused(() => {
      if (!this.#isEnded) stop();
    });
    return true;
  }

  /** Call when the response starts. A response that is not kept is not recorded. */
  begin(kind: ResponseKind | null, response: TargetResponse): void {
    const { upstreamResponse, isStream, target, model, dropped } = response;
    this.#kind = kind;
    const isKept = kind !== null && KEPT_OPERATIONS.has(kind.operation);
    if (!upstreamResponse.ok || !isKept) {
      this.#giveUp();
      return;
    }
    this.#response = response;
    if (isStream)
      this.#options.flight?.startStream(
        {
          status: upstreamResponse.status,
          provider: target.provider,
          model,
          dropped,
          targetTag: target.tag,
          format: kind.format,
        },
        this.#options.streamKey,
      );
  }

  /** Takes bytes of the response in the format of the client, before ids are sealed in it. */
  push(bytes: Uint8Array): void {
    if (bytes.byteLength === 0 || this.#response === null) return;
    const { flight, store } = this.#options;
    if (!this.#isOver && (this.#bytes += bytes.byteLength) > store.maxEntryBytes) this.#giveUp();
    if (this.#isOver && flight === null) return;
    // The memory of a chunk may be used again when it has been sent. Not slice(), which is a view of a Buffer.
    const copy = new Uint8Array(bytes);
    flight?.push(copy);
    if (!this.#isOver) this.#chunks.push(copy);
  }

  /** Call once, when the request has ended and its usage is known. */
  end(ended: EndedRequest, outcome: Outcome): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const { flight, store, key, keeps } = this.#options;
    const kept = outcome === "complete" ? this.#assemble(ended) : null;
    this.#chunks = [];
    if (kept !== null && keeps) store.keep(key, kept, this.#generation);
    if (outcome === "complete" && this.#response !== null) flight?.complete(kept);
    else flight?.fail();
  }

  #giveUp(): void {
    this.#isOver = true;
    this.#chunks = [];
    this.#options.flight?.giveUp();
  }

  #assemble({ usage, costNanos, clock }: EndedRequest): KeptResponse | null {
    const [response, kind] = [this.#response, this.#kind];
    if (response === null || kind === null || this.#isOver || this.#bytes === 0) return null;
    const body = wholeBody(Buffer.concat(this.#chunks), kind.operation, response.isStream, usage);
    if (body === null) return null;
    const now = clock.unixNow();
    return {
      status: response.upstreamResponse.status,
      ...kind,
      body,
      provider: response.target.provider,
      model: response.model,
      dropped: response.dropped,
      targetTag: response.target.tag,
      keptAt: now,
      expiresAt: now + this.#options.ttlMs,
      inputTokens: usage?.inputTokens ?? 0,
      outputTokens: usage?.outputTokens ?? 0,
      costNanos,
      streams: new KeptStreams(),
    };
  }
}

/** Returns the whole response; null if it is not complete, or cannot be read. */
function wholeBody(
  bytes: Uint8Array,
  operation: Operation,
  isStream: boolean,
  usage: Usage | null,
): Uint8Array | null {
  const assembly = assemblyOf(operation);
  if (!isStream) {
    const json = parseJson(bytes);
    const isComplete = isSuccess(json) && (assembly === null || assembly.isComplete(json));
    return isComplete ? bytes : null;
  }
  if (assembly === null) return null;
  const whole = assembleStream(assembly, bytes);
  if (whole === null) return null;
  const counted =
    assembly.withUsage === null || usage === null || usage.isPartial
      ? whole
      : assembly.withUsage(whole, usage.inputTokens, usage.outputTokens);
  return Buffer.from(JSON.stringify(counted));
}

/** A response with status 200 may still report an error. */
function isSuccess(json: unknown): json is JsonObject {
  return isJsonObject(json) && (json["error"] === undefined || json["error"] === null);
}
