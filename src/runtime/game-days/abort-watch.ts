// Observes the requests of the last seconds on this node, and decides whether a game day has to stop.
import type { GameDayAbort } from "../../model/game-day.ts";
import { addRequests, countRequest, noRequests, p99Of } from "./game-day-counts.ts";
import type { ObservedRequest, RequestCounts } from "./game-day-counts.ts";

const WINDOW_MS = 10_000;
const BUCKET_MS = 1000;

export class AbortWatch {
  readonly #condition: GameDayAbort;
  /** Counts by second. */
  readonly #buckets = new Map<number, RequestCounts>();

  constructor(condition: GameDayAbort) {
    this.#condition = condition;
  }

  add(request: ObservedRequest, isAffected: boolean, now: number): void {
    const { requests } = this.#condition;
    if (requests !== "all" && (requests === "affected") !== isAffected) return;
    const second = Math.floor(now / BUCKET_MS);
    let counts = this.#buckets.get(second);
    if (counts === undefined) this.#buckets.set(second, (counts = noRequests()));
    countRequest(counts, request);
  }

  /** Returns why the game day has to stop; null if it may continue. */
  reasonAt(now: number): string | null {
    const { error_ratio, p99_ms, min_requests, requests } = this.#condition;
    const sum = noRequests();
    for (const [second, counts] of this.#buckets)
      if ((second + 1) * BUCKET_MS <= now - WINDOW_MS) this.#buckets.delete(second);
      else addRequests(sum, counts);
    if (sum.requests < min_requests) return null;
    const whose = requests === "all" ? "all" : requests === "others" ? "other" : "affected";
    const ratio = sum.failed / sum.requests;
    if (error_ratio !== null && ratio > error_ratio)
      return `${sum.failed} of ${sum.requests} ${whose} requests failed; error_ratio is ${error_ratio}`;
    const p99 = p99Of(sum) ?? 0;
    if (p99_ms !== null && p99 > p99_ms)
      return `the 99th percentile of ${sum.requests} ${whose} requests is ${p99} ms; p99_ms is ${p99_ms}`;
    return null;
  }
}
