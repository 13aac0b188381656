// The request log: the last requests of this process, and the listeners that follow it live.
import { isPromise } from "../../base/value-or-promise.ts";
import { FairRing } from "./fair-ring.ts";
import { KeptRequests } from "./kept-requests.ts";
import type { RequestFacts } from "./request-facts.ts";
import { recordOf, startOf, type RequestRecord } from "./request-record.ts";

/** Each listener adds a small cost to every request. */
export const MAX_LISTENERS = 32;

/** Records of a list whose bodies are decoded at once; a decoder may take megabytes. */
const MAX_DECODING = 16;

export interface RequestFilter {
  /** Null: all gateways. */
  readonly gatewayId: string | null;
  /** A status such as `429`, or a class such as `4xx`. */
  readonly status?: string | undefined;
  readonly outcome?: string | undefined;
  readonly errorCode?: string | undefined;
  readonly ruleId?: string | undefined;
  readonly apiKeyId?: string | undefined;
  readonly provider?: string | undefined;
  /** The model that the client requested or that was sent to the target. */
  readonly model?: string | undefined;
  /** The called MCP tool, by the name that the client uses. */
  readonly tool?: string | undefined;
  readonly requestId?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/** Ordered by end time, latest first. */
export interface RequestPage {
  readonly requests: readonly RequestRecord[];
  /** Number of all matching requests, not only those on this page. */
  readonly count: number;
}

export interface RequestListener {
  readonly filter: RequestFilter;
  onRequest(record: RequestRecord): void;
  /** Called when the log closes; `onRequest` is not called afterwards. */
  onClose(): void;
}

/** The requests of this process, or of all worker processes. */
export interface RequestSource {
  readonly isOn: boolean;
  listRequests(filter: RequestFilter, limit: number): Promise<RequestPage>;
  /** Returns a function that stops following, or null if MAX_LISTENERS is reached. */
  followRequests(listener: RequestListener): (() => void) | null;
}

export class RequestLog implements RequestSource {
  readonly #size: number;
  /** Settles when the last record was sent to its listeners; null if none is waiting for its bodies. */
  #lastSent: Promise<void> | null = null;
  /** Grouped by gateway, so that a busy gateway does not push out the records of the others. */
  readonly #ring: FairRing<number>;
  /** The requests by slot; the ring holds the numbers of the slots. */
  readonly #kept = new KeptRequests();
  #freeSlot = 0;
  #usedSlots = 0;
  readonly #listeners = new Set<RequestListener>();
  readonly #beforeRead: () => void;

  /** Size 0 turns the log off. `beforeRead` adds requests that have ended and are not in the log yet. */
  constructor(size: number, beforeRead: () => void = () => undefined) {
    this.#size = size;
    this.#beforeRead = beforeRead;
    this.#ring = new FairRing(size);
  }

  get isOn(): boolean {
    return this.#size > 0;
  }

  add(facts: RequestFacts): void {
    if (this.#size === 0) return;
    facts.bodies?.redactPlain();
    this.#keep(facts);
    if (this.#listeners.size > 0) this.#notify(facts);
  }

  async listRequests(filter: RequestFilter, limit: number): Promise<RequestPage> {
    this.#beforeRead();
    const found: RequestFacts[] = [];
    let count = 0;
    const { gatewayId } = filter;
    const all = gatewayId === null ? this.#ring.ofAllGroups() : this.#ring.newestFirst(gatewayId);
    for (const slot of all) {
      if (!this.#matchesAt(slot, filter)) continue;
      count++;
      if (found.length < limit) found.push(this.#kept.get(slot));
    }
    const requests: RequestRecord[] = [];
    for (let at = 0; at < found.length; at += MAX_DECODING) {
      const part = found.slice(at, at + MAX_DECODING);
      requests.push(...(await Promise.all(part.map(async (each) => await recordOf(each)))));
    }
    return { requests, count };
  }

  followRequests(listener: RequestListener): (() => void) | null {
    if (this.#listeners.size >= MAX_LISTENERS) return null;
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Ends all listeners when the process stops. */
  close(): void {
    for (const listener of this.#listeners) listener.onClose();
    this.#listeners.clear();
  }

  #keep(facts: RequestFacts): void {
    const slot = this.#freeSlot;
    this.#kept.set(slot, facts);
    if (slot === this.#usedSlots) this.#usedSlots++;
    this.#freeSlot = this.#ring.add(facts.gatewayId, slot) ?? this.#usedSlots;
  }

  #matchesAt(slot: number, filter: RequestFilter): boolean {
    const kept = this.#kept;
    if (!matchesOwn(filter, kept.apiKeyIdAt(slot), kept.startAt(slot))) return false;
    const shared = kept.sharedAt(slot);
    return matchesId(filter, kept.requestIdAt(slot), shared.mirrorOf) && matchesShared(filter, shared);
  }

  #notify(facts: RequestFacts): void {
    const listeners = [...this.#listeners].filter(({ filter }) => matches(facts, filter));
    if (listeners.length === 0) return;
    const record = recordOf(facts);
    if (!isPromise(record) && this.#lastSent === null) {
      this.#send(record, listeners);
      return;
    }
    // Bodies are decoded in any order; listeners get the records in the order of the requests.
    const sent = Promise.all([record, this.#lastSent]).then(([decoded]) => {
      this.#send(decoded, listeners);
      if (this.#lastSent === sent) this.#lastSent = null;
    });
    this.#lastSent = sent;
  }

  #send(record: RequestRecord, listeners: readonly RequestListener[]): void {
    for (const each of listeners) if (this.#listeners.has(each)) each.onRequest(record);
  }
}

/** Merges the pages of several processes into one. */
export function mergeRequests(pages: readonly RequestPage[], limit: number): RequestPage {
  const requests = pages.flatMap((page) => page.requests).sort((a, b) => endOf(b) - endOf(a));
  const count = pages.reduce((total, page) => total + page.count, 0);
  return { requests: requests.slice(0, limit), count };
}

/** End time of the request in milliseconds since the epoch. */
function endOf({ time, timings }: RequestRecord): number {
  return Date.parse(time) + timings.total_ms;
}

function matches(facts: RequestFacts, filter: RequestFilter): boolean {
  const { requestId, mirrorOf, apiKeyId } = facts;
  if (!matchesOwn(filter, apiKeyId, startOf(facts))) return false;
  return matchesId(filter, requestId, mirrorOf) && matchesShared(filter, facts);
}

/** `startMs`: milliseconds since the epoch. */
function matchesOwn(filter: RequestFilter, keyId: string | null, startMs: number): boolean {
  const { apiKeyId, since, until } = filter;
  if (apiKeyId !== undefined && keyId !== apiKeyId) return false;
  return (since === undefined || startMs >= since) && (until === undefined || startMs < until);
}

/** The copies of a request are found with its id. */
function matchesId({ requestId }: RequestFilter, id: string, mirrorOf: string | null): boolean {
  return requestId === undefined || id === requestId || mirrorOf === requestId;
}

/** The part of a filter that concerns what requests have in common. */
function matchesShared(filter: RequestFilter, facts: RequestFacts): boolean {
  const { status, outcome, ruleId, provider, model } = filter;
  if (filter.gatewayId !== null && facts.gatewayId !== filter.gatewayId) return false;
  if (status !== undefined && !hasStatus(facts.status, status)) return false;
  if (outcome !== undefined && facts.outcome !== outcome) return false;
  if (filter.errorCode !== undefined && facts.errorCode !== filter.errorCode) return false;
  if (ruleId !== undefined && facts.rule?.names.rule.id !== ruleId) return false;
  if (filter.tool !== undefined && facts.mcp?.tool !== filter.tool) return false;
  if (provider === undefined && model === undefined) return true;
  const attempt = facts.finalAttempt ?? facts.attempts.at(-1);
  if (provider !== undefined && attempt?.target.provider !== provider) return false;
  return model === undefined || attempt?.model === model || facts.requestedModel === model;
}

function hasStatus(status: number, wanted: string): boolean {
  return wanted.endsWith("xx") ? String(status).startsWith(wanted.slice(0, 1)) : status === Number(wanted);
}
