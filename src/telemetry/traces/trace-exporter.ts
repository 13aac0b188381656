// Sends spans to an OTLP collector: in batches, off the path of requests, bounded. What cannot be sent is dropped and
// counted.
import type { Log } from "../log/log.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { SpanBatch, spanCount, type SpanSender } from "./otlp-spans.ts";
import type { RequestFacts } from "../requests/request-facts.ts";

export const MAX_BATCH_SPANS = 512;
export const MAX_QUEUED_SPANS = 8192;
const SEND_DEADLINE_MS = 10_000;
const CLOSE_DEADLINE_MS = 2000;
/** A batch that a collector cannot take, whatever it says, must not hold up all others. */
const MAX_TRIES = 5;
/** As the protocol names them; any other refusal is for good. */
const WORTH_ANOTHER_TRY = new Set([429, 502, 503, 504]);

export interface TraceExporterOptions {
  /** Of the collector; spans go to /v1/traces below it. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  readonly version: string;
  /** How long spans wait for others. */
  readonly delayMs: number;
}

interface Batch {
  readonly spans: number;
  readonly bytes: Uint8Array;
}

interface Reply {
  /** Why the batch was not taken; null: it was. */
  readonly refusal: string | null;
  readonly rejected: number;
  readonly isWorthAnotherTry: boolean;
}

export class TraceExporter {
  readonly #url: string;
  readonly #options: TraceExporterOptions;
  /** Written as they come: whoever waits for a collector holds bytes, and no part of a request. */
  readonly #open: SpanBatch;
  readonly #metrics: Metrics;
  readonly #log: Log;
  readonly #timer: Timer;
  #queue: Batch[] = [];
  #queuedSpans = 0;
  #flushing: Promise<void> | null = null;
  #tries = 0;
  /** A collector that is in trouble is asked less and less often. */
  #restUntil = 0;
  #isFailing = false;

  constructor(options: TraceExporterOptions, metrics: Metrics, log: Log) {
    this.#options = options;
    this.#open = new SpanBatch({ version: options.version, resource: resourceOf(options) });
    this.#url = `${options.endpoint.replace(/\/+$/, "")}/v1/traces`;
    this.#metrics = metrics;
    this.#log = log;
    this.#timer = setInterval(() => {
      if (performance.now() >= this.#restUntil) void this.#flush();
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
    // While the collector is away the timer is enough.
    if (this.#open.count >= MAX_BATCH_SPANS && !this.#isFailing) void this.#flush();
  }

  /** Sends what is left, if that can be done soon. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const sent = (this.#flushing ?? Promise.resolve()).then(() => this.#flush());
    await Promise.race([sent, Bun.sleep(CLOSE_DEADLINE_MS)]);
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
      if (reply.refusal !== null) {
        this.#tellRefusal(reply.refusal);
        // It stays at the head of the queue.
        if (reply.isWorthAnotherTry && ++this.#tries < MAX_TRIES) {
          this.#restUntil = performance.now() + this.#options.delayMs * 2 ** this.#tries;
          return;
        }
      } else if (this.#isFailing) {
        this.#isFailing = false;
        this.#log.info("traces are taken again");
      }
      this.#tries = 0;
      this.#queue.shift();
      this.#queuedSpans -= batch.spans;
      const taken = reply.refusal === null ? Math.max(0, batch.spans - reply.rejected) : 0;
      this.#count("exported", taken);
      this.#count("dropped", batch.spans - taken);
    }
  }

  async #send(body: Uint8Array): Promise<Reply> {
    try {
      const response = await fetch(this.#url, {
        method: "POST",
        headers: { ...this.#options.headers, "Content-Type": "application/x-protobuf" },
        body,
        redirect: "manual",
        signal: AbortSignal.timeout(SEND_DEADLINE_MS),
      });
      const rejected = rejectedIn(await response.bytes());
      if (response.ok) return { refusal: null, rejected, isWorthAnotherTry: false };
      const refusal = `the collector answered ${response.status}`;
      return { refusal, rejected: 0, isWorthAnotherTry: WORTH_ANOTHER_TRY.has(response.status) };
    } catch (error) {
      const refusal = error instanceof Error ? error.message : String(error);
      return { refusal, rejected: 0, isWorthAnotherTry: true };
    }
  }

  /** Once an outage, not once a batch. */
  #tellRefusal(reason: string): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#log.warn({ reason, url: this.#url }, "traces cannot be sent");
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
 * A collector may take a batch and yet refuse some of it: a message in field 1 of its answer, which begins with how many
 * (field 1 there) where it refused any.
 */
function rejectedIn(answer: Uint8Array): number {
  if (answer[0] !== PARTIAL_SUCCESS || answer[2] !== REJECTED_SPANS) return 0;
  let rejected = 0;
  for (let at = 3, factor = 1; at < answer.length; at++, factor *= 128) {
    const byte = answer[at] ?? 0;
    rejected += (byte & 0x7f) * factor;
    if (byte < 0x80) break;
  }
  return rejected;
}
