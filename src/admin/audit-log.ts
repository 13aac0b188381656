// Records administrative actions: in the audit log of the store, and as log lines. Rejected requests are counted per address and
// minute, so that a flood of them cannot fill the audit log.
import type { Clock, ClockTimer } from "../base/clock.ts";
import type { ErrorCode } from "../base/errors.ts";
import type { AuditEntry, AuditEvent, AuditOrigin, AuditSubject } from "../store/audit.ts";
import type { AuditStore } from "../store/sql-audit.ts";
import type { Log } from "../telemetry/log/log.ts";

const WINDOW_MS = 60_000;
/** Rejected requests of further addresses in the same minute are counted together. */
const MAX_ADDRESSES = 100;
const MAX_NAMES = 10;
/** Repeated reads of the same secrets by the same administrator are recorded once per minute. */
const MAX_RECENT_READS = 1000;

/** What a rejected request was rejected for. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  "unauthorized",
  "forbidden",
  "cross_site_request",
  "sign_in_failed",
  "sign_in_not_allowed",
]);

interface Refusals {
  count: number;
  readonly codes: Map<string, number>;
  readonly actors: Set<string>;
  readonly firstAt: number;
  lastAt: number;
}

export class AuditLog {
  readonly #store: AuditStore;
  readonly #log: Log;
  readonly #clock: Clock;
  /** By address; null: all further addresses. */
  #refusals = new Map<string | null, Refusals>();
  #timer: ClockTimer | null = null;
  readonly #recentReads = new Map<string, number>();

  constructor(store: AuditStore, log: Log, clock: Clock) {
    this.#store = store;
    this.#log = log;
    this.#clock = clock;
  }

  /** Resolves when the event is durable. */
  async record(event: AuditEvent): Promise<void> {
    for (const entry of await this.#store.append([event])) this.export(entry);
  }

  /** Logs an entry that was recorded together with a write. Null: nothing was recorded. */
  export(entry: AuditEntry | null): void {
    if (entry !== null) this.#log.info({ audit: entry }, "audit");
  }

  /** Resolves to the number of the last entry about a record; 0 if there is none. */
  lastChangeOf(subject: AuditSubject): Promise<number> {
    return this.#store.lastAbout(subject);
  }

  /** As `record`, unless another entry about the record has followed `last`: then resolves to false. */
  async recordAfter(last: number, event: AuditEvent): Promise<boolean> {
    const entry = await this.#store.appendAfter(last, event);
    this.export(entry);
    return entry !== null;
  }

  /** Records that secrets are read, before they are sent. */
  async recordRead(origin: AuditOrigin, resource: string, gatewayId: string | null): Promise<void> {
    const key = JSON.stringify([origin.actor, resource, gatewayId]);
    const now = this.#clock.now();
    if (now - (this.#recentReads.get(key) ?? -Infinity) < WINDOW_MS) return;
    await this.record({
      ...origin,
      action: "read_secrets",
      resource,
      resource_id: null,
      gateway_id: gatewayId,
      name: null,
      revision: null,
      details: null,
    });
    if (this.#recentReads.size >= MAX_RECENT_READS) this.#recentReads.clear();
    this.#recentReads.set(key, now);
  }

  /** Counts a request that was rejected. Errors that are not about the rights of the sender are ignored. */
  countRefusal(code: ErrorCode, { address, actor }: Pick<AuditOrigin, "address" | "actor">): void {
    if (!REFUSALS.has(code)) return;
    const isKnown = this.#refusals.has(address) || this.#refusals.size < MAX_ADDRESSES;
    const now = this.#clock.unixNow();
    const refusals = this.#refusalsOf(isKnown ? address : null, now);
    refusals.count++;
    refusals.lastAt = now;
    refusals.codes.set(code, (refusals.codes.get(code) ?? 0) + 1);
    if (actor !== null && refusals.actors.size < MAX_NAMES) refusals.actors.add(actor.name);
    if (this.#timer !== null) return;
    this.#timer = this.#clock.setTimeout(() => void this.flush(), WINDOW_MS);
    this.#timer.unref();
  }

  #refusalsOf(address: string | null, now: number): Refusals {
    let refusals = this.#refusals.get(address);
    if (refusals === undefined) {
      refusals = { count: 0, codes: new Map(), actors: new Set(), firstAt: now, lastAt: now };
      this.#refusals.set(address, refusals);
    }
    return refusals;
  }

  /** Records the rejected requests that were counted so far. Resolves also if the store is unavailable: the next minute tries again. */
  async flush(): Promise<void> {
    this.#timer?.close();
    this.#timer = null;
    const counted = this.#refusals;
    if (counted.size === 0) return;
    this.#refusals = new Map();
    try {
      for (const entry of await this.#store.append([...counted].map(toEvent))) this.export(entry);
    } catch (error) {
      this.#log.warn({ err: error, addresses: counted.size }, "rejected requests not recorded; will retry");
      this.#keep(counted);
    }
  }

  #keep(counted: ReadonlyMap<string | null, Refusals>): void {
    for (const [address, { count, codes, actors, firstAt, lastAt }] of counted) {
      const isKnown = this.#refusals.has(address) || this.#refusals.size < MAX_ADDRESSES;
      const kept = this.#refusalsOf(isKnown ? address : null, firstAt);
      kept.count += count;
      kept.lastAt = Math.max(kept.lastAt, lastAt);
      for (const [code, number] of codes) kept.codes.set(code, (kept.codes.get(code) ?? 0) + number);
      for (const name of actors) if (kept.actors.size < MAX_NAMES) kept.actors.add(name);
    }
    this.#timer ??= this.#clock.setTimeout(() => void this.flush(), WINDOW_MS);
    this.#timer.unref();
  }
}

function toEvent([address, { count, codes, actors, firstAt, lastAt }]: [
  string | null,
  Refusals,
]): AuditEvent {
  return {
    actor: null,
    role: null,
    address,
    request_id: null,
    action: "refused",
    resource: null,
    resource_id: null,
    gateway_id: null,
    name: null,
    revision: null,
    details: {
      count,
      codes: Object.fromEntries(codes),
      ...(actors.size > 0 && { actors: [...actors] }),
      first_at: new Date(firstAt).toISOString(),
      last_at: new Date(lastAt).toISOString(),
    },
  };
}
