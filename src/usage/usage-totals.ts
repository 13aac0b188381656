// Usage totals per day, gateway, API key, and model: summed in memory per request, written to the store once a second.
import type { Clock, ClockTimer } from "../base/clock.ts";
import { GatehouseError } from "../base/errors.ts";
import { newId } from "../base/ids.ts";
import type { Store } from "../store/store.ts";
import type { UsageBatch, UsageTotal } from "../store/usage.ts";
import type { Log } from "../telemetry/log/log.ts";
import { redact } from "../telemetry/log/redact.ts";

const FLUSH_INTERVAL_MS = 1000;
/** Limits the duration of a transaction, because it blocks other writes. */
const MAX_BATCH_ROWS = 500;
/** Clients may send any model name. Above this number of rows per day, further models share the row OTHER_MODELS. */
const MAX_ROWS_PER_DAY = 10_000;
const OTHER_MODELS = "(other models)";
const MAX_MODEL_LENGTH = 255;
/** Limit for rows in memory while the store is unavailable. The oldest rows are dropped first. */
const MAX_PENDING_ROWS = 50_000;
/** A batch that an available store keeps rejecting is dropped after this many attempts, so that later ones are written. */
const MAX_REJECTIONS = 10;
/** Characters that PostgreSQL cannot store: U+0000 and unpaired surrogates. */
const UNSTORABLE = /\0|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/** The usage of one request. */
export interface CountedRequest {
  readonly gatewayId: string;
  readonly apiKeyId: string | null;
  readonly apiKeyName: string | null;
  readonly model: string | null;
  readonly isPartial: boolean;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cost: number;
}

export class UsageTotals {
  readonly #store: Store;
  readonly #log: Log;
  readonly #writer = newId();
  readonly #clock: Clock;
  readonly #timer: ClockTimer;
  #pending = new Map<string, UsageTotal>();
  /**
   * The batch that is being written. After a failure it is retried unchanged, because the store may have committed it; the
   * store recognizes its number.
   */
  #batch: UsageBatch | null = null;
  #lastBatchNumber = 0;
  #rejections = 0;
  #flushing: Promise<void> | null = null;
  #day = "";
  /** The most recently used total, which avoids a lookup for consecutive requests with the same key and model. */
  #lastTotal: UsageTotal | null = null;
  readonly #rowsToday = new Set<string>();

  constructor(store: Store, log: Log, clock: Clock) {
    this.#store = store;
    this.#log = log;
    this.#clock = clock;
    this.#updateDay();
    this.#timer = clock.setInterval(() => {
      this.#updateDay();
      void this.flush();
    }, FLUSH_INTERVAL_MS);
    this.#timer.unref();
  }

  add(request: CountedRequest): void {
    const total = this.#totalFor(request);
    total.requests++;
    if (request.isPartial) total.partialRequests++;
    total.inputTokens += request.inputTokens;
    total.outputTokens += request.outputTokens;
    total.cost += request.cost;
  }

  /** Resolves when the totals are written or the attempt to write them failed. Concurrent calls share one attempt. */
  flush(): Promise<void> {
    this.#flushing ??= this.#flushNow().finally(() => (this.#flushing = null));
    return this.#flushing;
  }

  async stop(): Promise<void> {
    this.#timer.close();
    await this.#flushing;
    await this.flush();
    const lostRows = this.#pending.size + (this.#batch?.totals.length ?? 0);
    if (lostRows > 0) this.#log.error({ rows: lostRows }, "usage lost: not written before shutdown");
  }

  #totalFor(request: CountedRequest): UsageTotal {
    const { gatewayId, apiKeyId, model } = request;
    const last = this.#lastTotal;
    const isSame =
      last?.model === model && last.gatewayId === gatewayId && last.apiKeyId === (apiKeyId ?? "");
    return isSame ? last : (this.#lastTotal = this.#lookUp(request));
  }

  #lookUp({ gatewayId, apiKeyId, apiKeyName, model }: CountedRequest): UsageTotal {
    const keyPrefix = `${this.#day} ${gatewayId} ${apiKeyId ?? ""} `;
    let name = model ?? "";
    let key = keyPrefix + name;
    const known = this.#pending.get(key);
    if (known !== undefined) return known;
    // A client may send a secret in place of a model by mistake.
    name = redact(name).slice(0, MAX_MODEL_LENGTH).replaceAll(UNSTORABLE, "\uFFFD");
    if (!this.#rowsToday.has(keyPrefix + name) && this.#rowsToday.size >= MAX_ROWS_PER_DAY)
      name = OTHER_MODELS;
    this.#rowsToday.add((key = keyPrefix + name));
    let total = this.#pending.get(key);
    if (total === undefined) {
      if (this.#pending.size >= MAX_PENDING_ROWS) this.#dropOldest();
      total = {
        gatewayId,
        day: this.#day,
        apiKeyId: apiKeyId ?? "",
        apiKeyName: apiKeyName ?? "",
        model: name,
        requests: 0,
        partialRequests: 0,
        inputTokens: 0,
        outputTokens: 0,
        cost: 0,
      };
      this.#pending.set(key, total);
    }
    return total;
  }

  #dropOldest(): void {
    const [oldest] = this.#pending;
    if (oldest === undefined) return;
    this.#pending.delete(oldest[0]);
    this.#lastTotal = null;
    this.#log.error({ total: oldest[1] }, "usage lost: store unavailable for too long");
  }

  /** Called with every flush instead of every request, so a day may start up to a second late. */
  #updateDay(): void {
    const today = new Date(this.#clock.unixNow()).toISOString().slice(0, 10);
    if (today === this.#day) return;
    this.#day = today;
    this.#lastTotal = null;
    this.#rowsToday.clear();
  }

  async #flushNow(): Promise<void> {
    while ((this.#batch ??= this.#nextBatch()) !== null) {
      try {
        await this.#store.addUsage(this.#batch);
      } catch (error) {
        if (!this.#dropsBatch(error)) return;
      }
      this.#batch = null;
      this.#rejections = 0;
    }
  }

  #nextBatch(): UsageBatch | null {
    if (this.#pending.size === 0) return null;
    const taken = [...this.#pending].slice(0, MAX_BATCH_ROWS);
    this.#lastTotal = null;
    for (const [key] of taken) this.#pending.delete(key);
    return { writer: this.#writer, number: ++this.#lastBatchNumber, totals: taken.map(([, total]) => total) };
  }

  /** Returns whether the batch is dropped. While the store is unavailable, no batch is. */
  #dropsBatch(error: unknown): boolean {
    const isUnavailable = error instanceof GatehouseError && error.code === "store_unavailable";
    if (isUnavailable || ++this.#rejections < MAX_REJECTIONS) {
      this.#log.debug({ err: error }, "usage not written; retrying");
      return false;
    }
    this.#log.error(
      { err: error, rows: this.#batch?.totals.length },
      "usage lost: store rejected it repeatedly",
    );
    return true;
  }
}
