// What decides whether a request of an upstream may be hedged, and after which time: the times to first content of its latest
// requests, the share of its requests that were hedged, and its last 429.
import { ContentTimes } from "./content-times.ts";

const BUCKET_MS = 10_000;
/** Ten minutes. */
const BUCKETS = 60;
/** So many hedges are always allowed, so that the requests of a small installation can be hedged at all. */
const MIN_HEDGES = 5;
/** A provider that limits requests must not get more of them. */
const RATE_LIMIT_PAUSE_MS = 10_000;
/** Clients may send any model name. Further models share one entry. */
const MAX_MODELS = 64;
const OTHER_MODELS = "\n";

export class HedgeState {
  readonly #requests = new Uint32Array(BUCKETS);
  readonly #hedges = new Uint32Array(BUCKETS);
  #requestSum = 0;
  #hedgeSum = 0;
  #bucket = -1;
  #rateLimitedAt = -Infinity;
  readonly #times = new Map<string, ContentTimes>();

  /** Returns a state with the same numbers. Neither changes the other one. */
  copy(): HedgeState {
    const copy = new HedgeState();
    copy.#requests.set(this.#requests);
    copy.#hedges.set(this.#hedges);
    copy.#requestSum = this.#requestSum;
    copy.#hedgeSum = this.#hedgeSum;
    copy.#bucket = this.#bucket;
    copy.#rateLimitedAt = this.#rateLimitedAt;
    for (const [key, times] of this.#times) copy.#times.set(key, times.copy());
    return copy;
  }

  /** Call once per client request. */
  recordRequest(now: number): void {
    this.#advance(now);
    const slot = this.#bucket % BUCKETS;
    this.#requests[slot] = (this.#requests[slot] ?? 0) + 1;
    this.#requestSum++;
  }

  recordHedge(now: number): void {
    this.#advance(now);
    const slot = this.#bucket % BUCKETS;
    this.#hedges[slot] = (this.#hedges[slot] ?? 0) + 1;
    this.#hedgeSum++;
  }

  /** A target has responded with 429. */
  recordRateLimit(now: number): void {
    this.#rateLimitedAt = now;
  }

  /** Returns why no request may be hedged now; null if one may. `budget` is the share of requests that may be. */
  refusal(budget: number, now: number): "rate_limited" | "budget" | null {
    if (now - this.#rateLimitedAt < RATE_LIMIT_PAUSE_MS) return "rate_limited";
    this.#advance(now);
    return this.#hedgeSum + 1 > Math.max(MIN_HEDGES, this.#requestSum * budget) ? "budget" : null;
  }

  /** Streams have their first content long before other responses are complete. */
  recordTime(model: string | null, isStream: boolean, milliseconds: number): void {
    let key = keyOf(model ?? "", isStream);
    let times = this.#times.get(key);
    if (times === undefined) {
      if (this.#times.size >= MAX_MODELS) key = keyOf(OTHER_MODELS, isStream);
      times = this.#times.get(key) ?? new ContentTimes();
      this.#times.set(key, times);
    }
    times.record(milliseconds);
  }

  /** Returns the 95th percentile of the times to first content; null if there are too few. */
  p95(model: string | null, isStream: boolean): number | null {
    const times =
      this.#times.get(keyOf(model ?? "", isStream)) ?? this.#times.get(keyOf(OTHER_MODELS, isStream));
    return times?.p95() ?? null;
  }

  #advance(now: number): void {
    const bucket = Math.floor(now / BUCKET_MS);
    if (bucket <= this.#bucket) return;
    const first = Math.max(this.#bucket + 1, bucket - BUCKETS + 1);
    for (let passed = first; passed <= bucket; passed++) {
      const slot = passed % BUCKETS;
      this.#requestSum -= this.#requests[slot] ?? 0;
      this.#hedgeSum -= this.#hedges[slot] ?? 0;
      this.#requests[slot] = this.#hedges[slot] = 0;
    }
    this.#bucket = bucket;
  }
}

function keyOf(model: string, isStream: boolean): string {
  return `${isStream ? "stream" : "whole"} ${model}`;
}
