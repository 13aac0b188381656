// Sends spans to an OTLP collector in bounded batches, outside the request path. Spans that cannot be sent are dropped and
// counted.
import type { Log } from "../log/log.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { OtlpEndpoint, ResourceAttributes } from "../otlp/otlp-settings.ts";
import { postOtlp } from "../otlp/post-otlp.ts";
import { SpanBatch, spanCount } from "./otlp-spans.ts";
import type { RequestFacts } from "../requests/request-facts.ts";

export const MAX_BATCH_SPANS = 512;
export const MAX_QUEUED_SPANS = 8192;
const CLOSE_TIMEOUT_MS = 2000;
/** A batch that the collector keeps rejecting must not block later batches. */
const MAX_TRIES = 5;

export interface TraceExporterOptions {
  readonly endpoint: Pick<OtlpEndpoint, "url" | "headers">;
  readonly resource: ResourceAttributes;
  readonly version: string;
  /** Delay between two exports. */
  readonly delayMs: number;
}

interface Batch {
  readonly spans: number;
  readonly bytes: Uint8Array;
}

export class TraceExporter {
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
    this.#open = new SpanBatch(options);
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
      const reply = await postOtlp(this.#options.endpoint, batch.bytes);
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

  /** Logs once per outage, not once per batch. */
  #logFailure(reason: string): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#log.warn({ reason, url: this.#options.endpoint.url }, "trace export failed");
  }

  #count(result: "exported" | "dropped", spans: number): void {
    this.#metrics.number("gatehouse_trace_spans_total", { result }).add(spans);
  }
}
