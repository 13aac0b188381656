// Usage totals per day, gateway, API key, model, rule, provider, labels, and purpose: summed in memory per request,
// written to the store once a second.
import type { Clock, ClockTimer } from "../base/clock.ts";
import { GatehouseError } from "../base/errors.ts";
import { newId } from "../base/ids.ts";
import type { Store } from "../store/store.ts";
import type { UsageBatch, UsagePurpose, UsageTotal } from "../store/usage.ts";
import type { Log } from "../telemetry/log/log.ts";
import { redact } from "../telemetry/log/redact.ts";
import type { LabelSet } from "./label-set.ts";
import { UsageJournal } from "./usage-journal.ts";

const FLUSH_INTERVAL_MS = 1000;
/** How often files of killed processes are looked for. */
const FLUSHES_PER_RECOVERY = 10;
/** Limits the duration of a transaction, because it blocks other writes. */
const MAX_BATCH_ROWS = 500;
/**
 * Clients may send any model name. Above this number of rows per day and gateway, further models, rules, and providers of an API
 * key share one row.
 */
const MAX_ROWS_PER_DAY = 10_000;
const OTHER_MODELS = "(other models)";
const OTHER = "(other)";
const MAX_MODEL_LENGTH = 255;
/** Limit for rows of a gateway in memory while the store is unavailable. Its oldest rows are dropped first. */
const MAX_PENDING_ROWS = 20_000;
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
  readonly ruleId: string;
  readonly ruleName: string;
  readonly provider: string;
  readonly labels: LabelSet;
  readonly purpose: UsagePurpose;
  readonly isPartial: boolean;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** In nano-dollars; null if it is unknown. */
  readonly costNanos: number | null;
}

/** The rows of one gateway, by what distinguishes them. Their bounds do not depend on other gateways. */
class GatewayRows {
  readonly pending = new Map<string, UsageTotal>();
  readonly today = new Set<string>();
}

export class UsageTotals {
  readonly #store: Store;
  readonly #log: Log;
  readonly #writer = newId();
  readonly #clock: Clock;
  readonly #timer: ClockTimer;
  readonly #gateways = new Map<string, GatewayRows>();
  /**
   * The batch that is being written. After a failure it is retried unchanged, because the store may have committed it; the
   * store recognizes its number.
   */
  #batch: UsageBatch | null = null;
  #lastBatchNumber = 0;
  #rejections = 0;
  #flushing: Promise<void> | null = null;
  /** Null without a directory. */
  readonly #journal: UsageJournal | null;
  #recovering: Promise<void> | null = null;
  #ticks = 0;
  #day = "";
  /** The most recently used total, which avoids a lookup for consecutive requests with the same key and model. */
  #lastTotal: UsageTotal | null = null;

  /** `directory` keeps what is not written yet for the case that this process is killed. */
  constructor(store: Store, log: Log, clock: Clock, directory: string | null = null) {
    this.#store = store;
    this.#log = log;
    this.#clock = clock;
    this.#journal =
      directory === null ? null : new UsageJournal({ store, log, clock, directory, writer: this.#writer });
    this.#updateDay();
    this.#recover();
    this.#timer = clock.setInterval(() => this.#tick(), FLUSH_INTERVAL_MS);
    this.#timer.unref();
  }

  add(request: CountedRequest): void {
    const total = this.#totalFor(request);
    total.requests++;
    if (request.isPartial) total.partialRequests++;
    total.inputTokens += request.inputTokens;
    total.outputTokens += request.outputTokens;
    if (request.costNanos === null) total.unpricedRequests++;
    else total.costNanos += request.costNanos;
    this.#journal?.update(total);
  }

  /**
   * Resolves when the totals, and those of killed processes that were found, are written or the attempt to write them failed. Concurrent
   * calls share one attempt.
   */
  flush(): Promise<void> {
    this.#flushing ??= this.#flushNow().finally(() => (this.#flushing = null));
    return this.#flushing;
  }

  async stop(): Promise<void> {
    this.#timer.close();
    await this.#flushing;
    await this.flush();
    const unwritten = [...(this.#batch?.totals ?? [])];
    for (const { pending } of this.#gateways.values()) unwritten.push(...pending.values());
    const lostRows = this.#journal?.close(unwritten) ?? unwritten.length;
    if (lostRows > 0) this.#log.error({ rows: lostRows }, "usage lost: not written before shutdown");
    const keptRows = unwritten.length - lostRows;
    if (keptRows > 0)
      this.#log.warn({ rows: keptRows }, "usage not written before shutdown; the next start writes it");
  }

  #tick(): void {
    this.#updateDay();
    this.#journal?.renew();
    if (++this.#ticks % FLUSHES_PER_RECOVERY === 0) this.#recover();
    void this.flush();
  }

  #recover(): void {
    if (this.#journal !== null)
      this.#recovering ??= this.#journal.recover().finally(() => (this.#recovering = null));
  }

  #totalFor(request: CountedRequest): UsageTotal {
    const { gatewayId, apiKeyId, model, ruleId, provider, labels, purpose } = request;
    const last = this.#lastTotal;
    const isSame =
      last?.model === model &&
      last.ruleId === ruleId &&
      last.gatewayId === gatewayId &&
      last.apiKeyId === (apiKeyId ?? "") &&
      last.provider === provider &&
      last.labelSet === labels.id &&
      last.purpose === purpose;
    return isSame ? last : (this.#lastTotal = this.#lookUp(request));
  }

  #lookUp(request: CountedRequest): UsageTotal {
    const rows = this.#rowsOf(request.gatewayId);
    const known = rows.pending.get(this.#keyOf(request));
    if (known !== undefined) return known;
    // A client may send a secret in place of a model by mistake.
    const model = redact(request.model ?? "")
      .slice(0, MAX_MODEL_LENGTH)
      .replaceAll(UNSTORABLE, "\uFFFD");
    let counted: CountedRequest = { ...request, model };
    let key = this.#keyOf(counted);
    if (!rows.today.has(key) && rows.today.size >= MAX_ROWS_PER_DAY) {
      counted = { ...counted, model: OTHER_MODELS, ruleId: OTHER, ruleName: OTHER, provider: OTHER };
      key = this.#keyOf(counted);
    }
    rows.today.add(key);
    let total = rows.pending.get(key);
    if (total === undefined) {
      if (rows.pending.size >= MAX_PENDING_ROWS) this.#dropOldest(rows);
      total = newTotal(counted, this.#day);
      rows.pending.set(key, total);
    }
    return total;
  }

  /** A provider contains no line break, and no other part before the model contains a space. */
  #keyOf({ apiKeyId, ruleId, labels, purpose, provider, model }: CountedRequest): string {
    return `${this.#day} ${apiKeyId ?? ""} ${ruleId} ${labels.id} ${purpose} ${provider}\n${model ?? ""}`;
  }

  #rowsOf(gatewayId: string): GatewayRows {
    const known = this.#gateways.get(gatewayId) ?? new GatewayRows();
    this.#gateways.set(gatewayId, known);
    return known;
  }

  #dropOldest({ pending }: GatewayRows): void {
    const [oldest] = pending;
    if (oldest === undefined) return;
    pending.delete(oldest[0]);
    this.#lastTotal = null;
    this.#journal?.release([oldest[1]]);
    this.#log.error({ total: oldest[1] }, "usage lost: store unavailable for too long");
  }

  /** Called with every flush instead of every request, so a day may start up to a second late. */
  #updateDay(): void {
    const today = new Date(this.#clock.unixNow()).toISOString().slice(0, 10);
    if (today === this.#day) return;
    this.#day = today;
    this.#lastTotal = null;
    for (const [id, { pending, today: rows }] of this.#gateways) {
      rows.clear();
      if (pending.size === 0) this.#gateways.delete(id);
    }
  }

  async #flushNow(): Promise<void> {
    if (this.#recovering !== null) await this.#recovering;
    while ((this.#batch ??= this.#nextBatch()) !== null) {
      try {
        await this.#store.addUsage(this.#batch);
      } catch (error) {
        if (!this.#dropsBatch(error)) return;
      }
      this.#journal?.release(this.#batch.totals);
      this.#batch = null;
      this.#rejections = 0;
    }
  }

  #nextBatch(): UsageBatch | null {
    const totals = this.#takeRows();
    if (totals.length === 0) return null;
    this.#lastTotal = null;
    const batch = { writer: this.#writer, number: ++this.#lastBatchNumber, totals };
    this.#journal?.startBatch(batch);
    return batch;
  }

  /** Takes rows of all gateways in turn, so that one gateway with many rows does not delay those of others. */
  #takeRows(): UsageTotal[] {
    const taken: UsageTotal[] = [];
    let waiting = [...this.#gateways.values()];
    while (taken.length < MAX_BATCH_ROWS) {
      waiting = waiting.filter(({ pending }) => pending.size > 0);
      if (waiting.length === 0) break;
      const share = Math.ceil((MAX_BATCH_ROWS - taken.length) / waiting.length);
      for (const { pending } of waiting) {
        const room = Math.min(share, MAX_BATCH_ROWS - taken.length);
        for (const [key, total] of [...pending.entries().take(room)]) {
          pending.delete(key);
          taken.push(total);
        }
      }
    }
    return taken;
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

function newTotal(request: CountedRequest, day: string): UsageTotal {
  return {
    gatewayId: request.gatewayId,
    day,
    apiKeyId: request.apiKeyId ?? "",
    apiKeyName: request.apiKeyName ?? "",
    model: request.model ?? "",
    ruleId: request.ruleId,
    ruleName: request.ruleName,
    provider: request.provider,
    labels: request.labels.json,
    labelSet: request.labels.id,
    purpose: request.purpose,
    requests: 0,
    partialRequests: 0,
    inputTokens: 0,
    outputTokens: 0,
    costNanos: 0,
    unpricedRequests: 0,
  };
}
