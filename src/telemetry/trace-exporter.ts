// Sends spans to an OTLP collector: in batches, off the path of requests, bounded. What cannot be sent is dropped and
// counted.
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import { spanCount, writeSpans, type SpanSender } from "./otlp-spans.ts";
import type { RequestFacts } from "./request-facts.ts";

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

interface Reply {
  /** Why the batch was not taken; null: it was. */
  readonly refusal: string | null;
  readonly rejected: number;
  readonly isWorthAnotherTry: boolean;
}

export class TraceExporter {
  readonly #url: string;
  readonly #options: TraceExporterOptions;
  readonly #sender: SpanSender;
  readonly #metrics: Metrics;
  readonly #log: Log;
  readonly #timer: Timer;
  #queue: RequestFacts[] = [];
  #queuedSpans = 0;
  #flushing: Promise<void> | null = null;
  #tries = 0;
  /** A collector that is in trouble is asked less and less often. */
  #restUntil = 0;
  #isFailing = false;

  constructor(options: TraceExporterOptions, metrics: Metrics, log: Log) {
    this.#options = options;
    this.#sender = { version: options.version, resource: resourceOf(options) };
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
    if (this.#queuedSpans + count > MAX_QUEUED_SPANS) {
      this.#count("dropped", count);
      return;
    }
    this.#queue.push(facts);
    this.#queuedSpans += count;
    // While the collector is away the timer is enough.
    if (this.#queuedSpans >= MAX_BATCH_SPANS && !this.#isFailing) void this.#flush();
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

  async #sendAll(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#nextBatch();
      const reply = await this.#send(batch);
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
      this.#queue = this.#queue.slice(batch.length);
      const count = batch.reduce((spans, facts) => spans + spanCount(facts), 0);
      this.#queuedSpans -= count;
      const taken = reply.refusal === null ? Math.max(0, count - reply.rejected) : 0;
      this.#count("exported", taken);
      this.#count("dropped", count - taken);
    }
  }

  #nextBatch(): RequestFacts[] {
    let spans = 0;
    const end = this.#queue.findIndex((facts) => (spans += spanCount(facts)) > MAX_BATCH_SPANS);
    return end < 0 ? this.#queue.slice() : this.#queue.slice(0, Math.max(1, end));
  }

  async #send(batch: readonly RequestFacts[]): Promise<Reply> {
    try {
      const response = await fetch(this.#url, {
        method: "POST",
        headers: { ...this.#options.headers, "Content-Type": "application/x-protobuf" },
        body: writeSpans(batch, this.#sender),
        redirect: "manual",
        signal: AbortSignal.timeout(SEND_DEADLINE_MS),
      });
      const rejected = rejectedIn(await response.bytes());
      if (response.ok) return { refusal: null, rejected, isWorthAnotherTry: false };
      const refusal = `the collector answered ${response.status}`;
      return { refusal, rejected: 0, isWorthAnotherTry: WORTH_ANOTHER_TRY.has(response.status) };
    } catch (fault) {
      const refusal = fault instanceof Error ? fault.message : String(fault);
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
