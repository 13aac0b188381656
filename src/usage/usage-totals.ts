// Totals of usage: added up in memory by every request, written to the store in batches about once a second.
import { GatehouseError } from "../base/errors.ts";
import { newId } from "../base/ids.ts";
import type { Store } from "../store/store.ts";
import type { UsageBatch, UsageTotal } from "../store/usage.ts";
import type { Log } from "../telemetry/log/log.ts";

const FLUSH_MS = 1000;
/** One transaction must not hold up the writes of others for long. */
const MAX_BATCH = 500;
/** Rows of one day: beyond them, models that are new today are counted together. Clients may send any name. */
const MAX_ROWS_A_DAY = 10_000;
const OTHER_MODELS = "(other models)";
const MAX_MODEL_LENGTH = 255;
/** While the store is away. What is oldest is then given up first. */
const MAX_PENDING = 50_000;
/** A batch that the store refuses, rather than being away, would keep all later ones waiting for ever. */
const MAX_REFUSALS = 10;
/** What PostgreSQL cannot hold in a text. */
const UNSTORABLE = /\0|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/** One request, as it is counted. */
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
  readonly #timer: Timer;
  #pending = new Map<string, UsageTotal>();
  /** Under way, or to be tried again just as it is: it may have been written without our knowing. */
  #batch: UsageBatch | null = null;
  #batches = 0;
  #refusals = 0;
  #flushing: Promise<void> | null = null;
  #day = "";
  /** What was counted last: in a burst it is mostly the next as well. */
  #last: UsageTotal | null = null;
  readonly #rowsToday = new Set<string>();

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
    this.#beginDay();
    this.#timer = setInterval(() => {
      this.#beginDay();
      void this.flush();
    }, FLUSH_MS);
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

  /** Writes what there is, as far as the store is there. Calls at once share one attempt. */
  flush(): Promise<void> {
    this.#flushing ??= this.#flushNow().finally(() => (this.#flushing = null));
    return this.#flushing;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#flushing;
    await this.flush();
    const lost = this.#pending.size + (this.#batch?.totals.length ?? 0);
    if (lost > 0) this.#log.error({ rows: lost }, "usage could not be written before the end, and is lost");
  }

  #totalFor(request: CountedRequest): UsageTotal {
    const { gatewayId, apiKeyId, model } = request;
    const last = this.#last;
    const isSame =
      last?.model === model && last.gatewayId === gatewayId && last.apiKeyId === (apiKeyId ?? "");
    return isSame ? last : (this.#last = this.#lookUp(request));
  }

  #lookUp({ gatewayId, apiKeyId, apiKeyName, model }: CountedRequest): UsageTotal {
    const place = `${this.#day} ${gatewayId} ${apiKeyId ?? ""} `;
    let name = model ?? "";
    let key = place + name;
    const known = this.#pending.get(key);
    if (known !== undefined) return known;
    name = name.slice(0, MAX_MODEL_LENGTH).replaceAll(UNSTORABLE, "\uFFFD");
    if (!this.#rowsToday.has(place + name) && this.#rowsToday.size >= MAX_ROWS_A_DAY) name = OTHER_MODELS;
    this.#rowsToday.add((key = place + name));
    let total = this.#pending.get(key);
    if (total === undefined) {
      if (this.#pending.size >= MAX_PENDING) this.#dropOldest();
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
    this.#last = null;
    this.#log.error({ total: oldest[1] }, "the store is away for too long: usage is lost");
  }

  /** Looked at with every tick, not with every request: a day may begin a second late. */
  #beginDay(): void {
    const today = new Date().toISOString().slice(0, 10);
    if (today === this.#day) return;
    this.#day = today;
    this.#last = null;
    this.#rowsToday.clear();
  }

  async #flushNow(): Promise<void> {
    while ((this.#batch ??= this.#nextBatch()) !== null) {
      try {
        await this.#store.addUsage(this.#batch);
      } catch (error) {
        if (!this.#givesUp(error)) return;
      }
      this.#batch = null;
      this.#refusals = 0;
    }
  }

  #nextBatch(): UsageBatch | null {
    if (this.#pending.size === 0) return null;
    const taken = [...this.#pending].slice(0, MAX_BATCH);
    this.#last = null;
    for (const [key] of taken) this.#pending.delete(key);
    return { writer: this.#writer, number: ++this.#batches, totals: taken.map(([, total]) => total) };
  }

  /** A store that is away is waited for, however long. */
  #givesUp(error: unknown): boolean {
    const isAway = error instanceof GatehouseError && error.code === "store_unavailable";
    if (isAway || ++this.#refusals < MAX_REFUSALS) {
      this.#log.debug({ err: error }, "usage could not be written yet");
      return false;
    }
    this.#log.error(
      { err: error, rows: this.#batch?.totals.length },
      "usage was refused by the store, and is lost",
    );
    return true;
  }
}
