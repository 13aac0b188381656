// Sends encoded items to an OTLP collector in bounded batches, outside the request path. Items that cannot be sent are dropped and
// counted.
import type { Log } from "../log/log.ts";
import { loggedUrl, type OtlpEndpoint } from "./otlp-settings.ts";
import { postOtlp } from "./post-otlp.ts";

export const MAX_BATCH_ITEMS = 512;
export const MAX_QUEUED_ITEMS = 8192;
/** Collectors limit the size of a request. */
const MAX_BATCH_BYTES = 1024 * 1024;
export const MAX_QUEUED_BYTES = 16 * 1024 * 1024;
const CLOSE_TIMEOUT_MS = 2000;
/** A batch that the collector keeps rejecting must not block later batches. */
const MAX_TRIES = 5;

/** Encodes items when they are added, so that waiting items keep no part of a request in memory. */
export interface OpenBatch {
  readonly count: number;
  readonly byteLength: number;
  /** Returns the encoded items and starts the next batch. */
  take(): Uint8Array;
}

export interface BatchExporterOptions {
  readonly endpoint: Pick<OtlpEndpoint, "url" | "headers">;
  /** Delay between two exports. */
  readonly delayMs: number;
  readonly log: Log;
  readonly messages: { readonly failed: string; readonly recovered: string };
  count(result: "exported" | "dropped", items: number): void;
}

interface Batch {
  readonly items: number;
  readonly bytes: Uint8Array;
}

export class BatchExporter {
  readonly #options: BatchExporterOptions;
  readonly #open: OpenBatch;
  readonly #timer: Timer;
  #queue: Batch[] = [];
  #queuedItems = 0;
  #queuedBytes = 0;
  #flushing: Promise<void> | null = null;
  #tries = 0;
  /** Back-off after failed exports: no export before this time. */
  #retryAt = 0;
  #isFailing = false;

  constructor(options: BatchExporterOptions, open: OpenBatch) {
    this.#options = options;
    this.#open = open;
    this.#timer = setInterval(() => {
      if (performance.now() >= this.#retryAt) void this.#flush();
    }, options.delayMs);
    this.#timer.unref();
    options.count("exported", 0);
    options.count("dropped", 0);
  }

  /** `encode` adds `count` items to the open batch; it is not called if the queue is full. */
  add(count: number, encode: () => void): void {
    const open = this.#open;
    const isFull =
      this.#queuedItems + open.count + count > MAX_QUEUED_ITEMS ||
      this.#queuedBytes + open.byteLength > MAX_QUEUED_BYTES;
    if (isFull) {
      this.#options.count("dropped", count);
      return;
    }
    if (open.count + count > MAX_BATCH_ITEMS) this.#closeBatch();
    encode();
    // While the collector is failing, only the timer triggers exports.
    if (open.count < MAX_BATCH_ITEMS && open.byteLength < MAX_BATCH_BYTES) return;
    this.#closeBatch();
    if (!this.#isFailing) void this.#flush();
  }

  /** Sends the remaining items, for at most CLOSE_TIMEOUT_MS. */
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
    if (count === 0) return;
    const bytes = this.#open.take();
    this.#queue.push({ items: count, bytes });
    this.#queuedItems += count;
    this.#queuedBytes += bytes.byteLength;
  }

  async #sendAll(): Promise<void> {
    this.#closeBatch();
    for (let batch = this.#queue[0]; batch !== undefined; batch = this.#queue[0]) {
      const reply = await postOtlp(this.#options.endpoint, batch.bytes);
      const { error, rejected, isRetryable, retryAfterMs } = reply;
      this.#logResult(error);
      // The batch stays first in the queue.
      if (error !== null && isRetryable && ++this.#tries < MAX_TRIES) {
        const backOffMs = this.#options.delayMs * 2 ** this.#tries;
        this.#retryAt = performance.now() + Math.max(backOffMs, retryAfterMs);
        return;
      }
      this.#tries = 0;
      this.#queue.shift();
      this.#queuedItems -= batch.items;
      this.#queuedBytes -= batch.bytes.byteLength;
      const accepted = error === null ? Math.max(0, batch.items - rejected) : 0;
      this.#options.count("exported", accepted);
      this.#options.count("dropped", batch.items - accepted);
    }
  }

  /** Logs once per outage, not once per batch. */
  #logResult(reason: string | null): void {
    if ((reason !== null) === this.#isFailing) return;
    this.#isFailing = reason !== null;
    const { log, messages, endpoint } = this.#options;
    if (reason === null) log.info(messages.recovered);
    else log.warn({ reason, url: loggedUrl(endpoint) }, messages.failed);
  }
}
