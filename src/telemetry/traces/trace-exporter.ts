// Sends spans to an OTLP collector in bounded batches, outside the request path. Spans that cannot be sent are dropped and
// counted.
import type { Log } from "../log/log.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { SpanBatch, spanCount, type SpanSender } from "./otlp-spans.ts";
import type { RequestFacts } from "../requests/request-facts.ts";

export const MAX_BATCH_SPANS = 512;
export const MAX_QUEUED_SPANS = 8192;
const SEND_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 2000;
/** A batch that the collector keeps rejecting must not block later batches. */
const MAX_TRIES = 5;
/** Retryable status codes of the OTLP specification; any other error drops the batch. */
const RETRYABLE = new Set([429, 502, 503, 504]);

export interface TraceExporterOptions {
  /** Base URL of the collector; spans are sent to `/v1/traces` below it. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  readonly version: string;
  /** Delay between two exports. */
  readonly delayMs: number;
}

interface Batch {
  readonly spans: number;
  readonly bytes: Uint8Array;
}

interface Reply {
  /** Why the batch was not accepted; null if it was. */
  readonly error: string | null;
  readonly rejected: number;
  readonly isRetryable: boolean;
}

export class TraceExporter {
  readonly #url: string;
  readonly #options: TraceExporterOptions;
  /** Spans are encoded when they are added, so that waiting spans keep no part of a request in memory. */
  readonly #open: SpanBatch;
  readonly #metrics: Metrics;
  readonly #log: Log;
  readonly #timer: Timer;
  #queue: Batch[] = [];
  #queuedSpans = 0;
  #flushing: Promise<void> | null = null;
  #tries = 0;
  /** Back-off after failed exports: no export before this time. */
  #retryAt = 0;
  #isFailing = false;

  constructor(options: TraceExporterOptions, metrics: Metrics, log: Log) {
    this.#options = options;
    this.#open = new SpanBatch({ version: options.version, resource: resourceOf(options) });
    this.#url = `${options.endpoint.replace(/\/+$/, "")}/v1/traces`;
    this.#metrics = metrics;
    this.#log = log;
    this.#timer = setInterval(() => {
      if (performance.now() >= this.#retryAt) void this.#flush();
    }, options.delayMs);
    this.#timer.unref();
    this.#count("exported", 0);
    this.#count("dropped", 0);
  }

  add(facts: RequestFacts): void {
    const count = spanCount(facts);
    if (facts.trace === null) return;
    if (this.#queuedSpans + count > MAX_QUEUED_SPANS) {
      this.#count("dropped", count);
      return;
    }
    if (this.#open.count + count > MAX_BATCH_SPANS) this.#closeBatch();
    this.#open.add(facts, facts.trace);
    this.#queuedSpans += count;
    // While the collector is failing, only the timer triggers exports.
    if (this.#open.count >= MAX_BATCH_SPANS && !this.#isFailing) void this.#flush();
  }

  /** Sends the remaining spans, for at most CLOSE_TIMEOUT_MS. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const sent = (this.#flushing ?? Promise.resolve()).then(() => this.#flush());
    await Promise.race([sent, Bun.sleep(CLOSE_TIMEOUT_MS)]);
  }

  #flush(): Promise<void> {
    this.#flushing ??= this.#sendAll().finally(() => (this.#flushing = null));
    return this.#flushing;
  }

  #closeBatch(): void {
    const { count } = this.#open;
    if (count > 0) this.#queue.push({ spans: count, bytes: this.#open.take() });
  }

  async #sendAll(): Promise<void> {
    this.#closeBatch();
    for (let batch = this.#queue[0]; batch !== undefined; batch = this.#queue[0]) {
      const reply = await this.#send(batch.bytes);
      if (reply.error !== null) {
        this.#logFailure(reply.error);
        // The batch stays first in the queue.
        if (reply.isRetryable && ++this.#tries < MAX_TRIES) {
          this.#retryAt = performance.now() + this.#options.delayMs * 2 ** this.#tries;
          return;
        }
      } else if (this.#isFailing) {
        this.#isFailing = false;
        this.#log.info("trace export recovered");
      }
      this.#tries = 0;
      this.#queue.shift();
      this.#queuedSpans -= batch.spans;
      const accepted = reply.error === null ? Math.max(0, batch.spans - reply.rejected) : 0;
      this.#count("exported", accepted);
      this.#count("dropped", batch.spans - accepted);
    }
  }

  async #send(body: Uint8Array): Promise<Reply> {
    try {
      const response = await fetch(this.#url, {
        method: "POST",
        headers: { ...this.#options.headers, "Content-Type": "application/x-protobuf" },
        body,
        redirect: "manual",
        signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
      });
      const rejected = rejectedIn(await response.bytes());
      if (response.ok) return { error: null, rejected, isRetryable: false };
      const error = `the collector responded with status ${response.status}`;
      return { error, rejected: 0, isRetryable: RETRYABLE.has(response.status) };
    } catch (cause) {
      const error = cause instanceof Error ? cause.message : String(cause);
      return { error, rejected: 0, isRetryable: true };
    }
  }

  /** Logs once per outage, not once per batch. */
  #logFailure(reason: string): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#log.warn({ reason, url: this.#url }, "trace export failed");
  }

  #count(result: "exported" | "dropped", spans: number): void {
    this.#metrics.number("gatehouse_trace_spans_total", { result }).add(spans);
  }
}

const INSTANCE_ID = crypto.randomUUID();

function resourceOf({ serviceName, version }: TraceExporterOptions): SpanSender["resource"] {
  return {
    "service.name": serviceName,
    "service.version": version,
    "service.instance.id": INSTANCE_ID,
    "telemetry.sdk.name": "gatehouse",
    "telemetry.sdk.language": "nodejs",
    "telemetry.sdk.version": version,
  };
}

const PARTIAL_SUCCESS = 0x0a;
const REJECTED_SPANS = 0x08;

/**
 * Returns how many spans a collector rejected from a batch that it otherwise accepted: field 1 (partial_success) of the response
 * holds a message whose field 1 is that count.
 */
function rejectedIn(response: Uint8Array): number {
  if (response[0] !== PARTIAL_SUCCESS || response[2] !== REJECTED_SPANS) return 0;
  let rejected = 0;
  for (let at = 3, factor = 1; at < response.length; at++, factor *= 128) {
    const byte = response[at] ?? 0;
    rejected += (byte & 0x7f) * factor;
    if (byte < 0x80) break;
  }
  return rejected;
}
