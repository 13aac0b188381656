// The request log: the last requests of this process in a ring, and whoever follows them live.
import type { RequestFacts } from "./request-facts.ts";
import { recordOf, startOf, type RequestRecord } from "./request-record.ts";

/** Following costs a little for every request: so many at once are enough for an operator. */
export const MAX_LISTENERS = 32;

export interface RequestFilter {
  readonly gatewayId: string;
  /** `429`, or `4xx` for all of a hundred. */
  readonly status?: string | undefined;
  readonly outcome?: string | undefined;
  readonly ruleId?: string | undefined;
  readonly apiKeyId?: string | undefined;
  readonly provider?: string | undefined;
  /** As the client asked for it, or as it was sent. */
  readonly model?: string | undefined;
  readonly requestId?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly since?: number | undefined;
}

/** What ended last first. */
export interface RequestPage {
  readonly requests: readonly RequestRecord[];
  /** All that match, not only those on this page. */
  readonly count: number;
}

export interface RequestListener {
  readonly filter: RequestFilter;
  hear(record: RequestRecord): void;
  /** Nothing more will be heard. */
  end(): void;
}

/** The requests of this process, or of all that share its listeners. */
export interface RequestSource {
  readonly isOn: boolean;
  listRequests(filter: RequestFilter, limit: number): Promise<RequestPage>;
  /** How to stop listening; null where too many listen already. */
  followRequests(listener: RequestListener): (() => void) | null;
}

export class RequestLog implements RequestSource {
  readonly #size: number;
  readonly #ring: RequestFacts[] = [];
  #next = 0;
  readonly #listeners = new Set<RequestListener>();

  /** 0 turns it off. */
  constructor(size: number) {
    this.#size = size;
  }

  get isOn(): boolean {
    return this.#size > 0;
  }

  add(facts: RequestFacts): void {
    if (this.#size === 0) return;
    // From here on only what may be shown is held.
    facts.bodies?.texts();
    this.#ring[this.#next] = facts;
    this.#next = (this.#next + 1) % this.#size;
    if (this.#listeners.size > 0) this.#tell(facts);
  }

  listRequests(filter: RequestFilter, limit: number): Promise<RequestPage> {
    const requests: RequestRecord[] = [];
    let count = 0;
    for (let back = 1; back <= this.#ring.length; back++) {
      const facts = this.#ring[(this.#next - back + this.#size) % this.#size] as RequestFacts;
      if (!matches(facts, filter)) continue;
      count++;
      if (requests.length < limit) requests.push(recordOf(facts));
    }
    return Promise.resolve({ requests, count });
  }

  followRequests(listener: RequestListener): (() => void) | null {
    if (this.#listeners.size >= MAX_LISTENERS) return null;
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The process ends: nobody is kept waiting for more. */
  close(): void {
    for (const listener of this.#listeners) listener.end();
    this.#listeners.clear();
  }

  #tell(facts: RequestFacts): void {
    let record: RequestRecord | null = null;
    for (const listener of this.#listeners)
      if (matches(facts, listener.filter)) listener.hear((record ??= recordOf(facts)));
  }
}

/** One page of several processes' pages. */
export function mergeRequests(pages: readonly RequestPage[], limit: number): RequestPage {
  const requests = pages.flatMap((page) => page.requests).sort((a, b) => endOf(b) - endOf(a));
  const count = pages.reduce((total, page) => total + page.count, 0);
  return { requests: requests.slice(0, limit), count };
}

/** As in a ring, what ended last comes first. */
function endOf({ time, timings }: RequestRecord): number {
  return Date.parse(time) + timings.total_ms;
}

function matches(facts: RequestFacts, filter: RequestFilter): boolean {
  const { status, outcome, ruleId, apiKeyId, provider, model, requestId, since } = filter;
  if (facts.gatewayId !== filter.gatewayId) return false;
  if (status !== undefined && !hasStatus(facts.status, status)) return false;
  if (outcome !== undefined && facts.outcome !== outcome) return false;
  if (ruleId !== undefined && facts.rule?.names.rule.id !== ruleId) return false;
  if (apiKeyId !== undefined && facts.apiKeyId !== apiKeyId) return false;
  if (requestId !== undefined && facts.requestId !== requestId) return false;
  if (since !== undefined && startOf(facts) < since) return false;
  if (provider === undefined && model === undefined) return true;
  const asked = facts.answeredBy ?? facts.attempts.at(-1);
  if (provider !== undefined && asked?.target.provider !== provider) return false;
  return model === undefined || asked?.model === model || facts.requestedModel === model;
}

function hasStatus(status: number, wanted: string): boolean {
  return wanted.endsWith("xx") ? String(status).startsWith(wanted.slice(0, 1)) : status === Number(wanted);
}
