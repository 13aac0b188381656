// Ten minutes of traffic with one slot per second, in preallocated arrays: the memory of a slot does not depend on its requests.
import type { RequestFacts } from "./request-facts.ts";

export const TRAFFIC_SECONDS = 600;
/** Upper bounds grow by a factor of 1.5 from 1 ms to about five minutes; the last bucket has no bound. */
const BUCKETS = 32;
const LOG_GROWTH = Math.log(1.5);
const MAX_IN_BUCKET = 0xffff;
/** Bounds the codes per second, because plugins may define codes. */
const MAX_CODES = 16;
const OTHER = "other";

/** One second of traffic in a form that can be summed. Histograms are counts per bucket; see `quantile`. */
export interface TrafficSecond {
  /** Unix seconds. */
  readonly second: number;
  readonly requests: number;
  readonly errors: number;
  readonly durations: readonly number[];
  readonly firstBytes: readonly number[];
  readonly firstTokens: readonly number[];
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cost: number;
  readonly unpriced: number;
  readonly refused: Readonly<Record<string, number>>;
  readonly failed: Readonly<Record<string, number>>;
}

export class SecondRing {
  /** The second that each slot holds. */
  readonly #seconds = new Float64Array(TRAFFIC_SECONDS).fill(-1);
  /** All in arrays of one type, because `addAt` is several times slower if it is called with two. */
  readonly #requests = new Float64Array(TRAFFIC_SECONDS);
  readonly #errors = new Float64Array(TRAFFIC_SECONDS);
  readonly #durations = new Uint16Array(TRAFFIC_SECONDS * BUCKETS);
  readonly #firstBytes = new Uint16Array(TRAFFIC_SECONDS * BUCKETS);
  readonly #firstTokens = new Uint16Array(TRAFFIC_SECONDS * BUCKETS);
  readonly #inputTokens = new Float64Array(TRAFFIC_SECONDS);
  readonly #outputTokens = new Float64Array(TRAFFIC_SECONDS);
  readonly #cost = new Float64Array(TRAFFIC_SECONDS);
  readonly #unpriced = new Float64Array(TRAFFIC_SECONDS);
  readonly #refused: (Map<string, number> | null)[] = new Array<null>(TRAFFIC_SECONDS).fill(null);
  readonly #failed: (Map<string, number> | null)[] = new Array<null>(TRAFFIC_SECONDS).fill(null);
  /** The last second with a request. */
  lastSecond = -1;

  add(facts: RequestFacts, second: number): void {
    const slot = this.#slotFor(second);
    const { finalAttempt, firstTokenAt, startedAt, endedAt, tokens, cost, errorCode } = facts;
    addAt(this.#requests, slot, 1);
    count(this.#durations, slot, endedAt - startedAt);
    const firstByteAt = finalAttempt?.firstByteAt ?? null;
    if (firstByteAt !== null) count(this.#firstBytes, slot, firstByteAt - startedAt);
    if (firstTokenAt !== null) count(this.#firstTokens, slot, firstTokenAt - startedAt);
    if (tokens !== null) {
      addAt(this.#inputTokens, slot, tokens.input);
      addAt(this.#outputTokens, slot, tokens.output);
    }
    if (cost !== null) addAt(this.#cost, slot, cost);
    else if (facts.isUnpriced) addAt(this.#unpriced, slot, 1);
    // A request counts as rejected if it failed before any upstream attempt. The API field is named `refused`.
    const isRejected = errorCode !== null && facts.attempts.length === 0;
    if (isRejected) countCode((this.#refused[slot] ??= new Map<string, number>()), errorCode);
    if (!isError(facts)) return;
    addAt(this.#errors, slot, 1);
    if (!isRejected) countCode((this.#failed[slot] ??= new Map<string, number>()), failureCode(facts));
  }

  /** Returns the number of requests and errors from `from` to `to`. */
  sum(from: number, to: number): { readonly requests: number; readonly errors: number } {
    let [requests, errors] = [0, 0];
    for (let second = Math.max(from, to - TRAFFIC_SECONDS + 1); second <= to; second++) {
      const slot = second % TRAFFIC_SECONDS;
      if (this.#seconds[slot] !== second) continue;
      requests += this.#requests[slot] ?? 0;
      errors += this.#errors[slot] ?? 0;
    }
    return { requests, errors };
  }

  /** Returns the seconds from `from` to `to` that had requests, oldest first. */
  read(from: number, to: number): TrafficSecond[] {
    const points: TrafficSecond[] = [];
    for (let second = Math.max(from, to - TRAFFIC_SECONDS + 1); second <= to; second++) {
      const slot = second % TRAFFIC_SECONDS;
      if (this.#seconds[slot] !== second) continue;
      points.push({
        second,
        requests: this.#requests[slot] ?? 0,
        errors: this.#errors[slot] ?? 0,
        durations: countsIn(this.#durations, slot),
        firstBytes: countsIn(this.#firstBytes, slot),
        firstTokens: countsIn(this.#firstTokens, slot),
        inputTokens: this.#inputTokens[slot] ?? 0,
        outputTokens: this.#outputTokens[slot] ?? 0,
        cost: this.#cost[slot] ?? 0,
        unpriced: this.#unpriced[slot] ?? 0,
        refused: Object.fromEntries(this.#refused[slot] ?? []),
        failed: Object.fromEntries(this.#failed[slot] ?? []),
      });
    }
    return points;
  }

  #slotFor(second: number): number {
    const slot = second % TRAFFIC_SECONDS;
    if (this.#seconds[slot] === second) return slot;
    this.#seconds[slot] = second;
    this.lastSecond = second;
    this.#requests[slot] = 0;
    this.#errors[slot] = 0;
    this.#inputTokens[slot] = 0;
    this.#outputTokens[slot] = 0;
    this.#cost[slot] = 0;
    this.#unpriced[slot] = 0;
    for (const counts of [this.#durations, this.#firstBytes, this.#firstTokens])
      counts.fill(0, slot * BUCKETS, (slot + 1) * BUCKETS);
    this.#refused[slot] = null;
    this.#failed[slot] = null;
    return slot;
  }
}

function countCode(codes: Map<string, number>, code: string): void {
  const name = codes.has(code) || codes.size < MAX_CODES ? code : OTHER;
  codes.set(name, (codes.get(name) ?? 0) + 1);
}

/** The code of an error after an upstream attempt. An error response of the provider that was passed on has only a status. */
function failureCode({ errorCode, outcome, status }: RequestFacts): string {
  return errorCode ?? (outcome === "incomplete" ? "incomplete" : `status_${status}`);
}

/** Whether the client got no usable response. A client disconnect is not an error. */
function isError({ status, outcome }: RequestFacts): boolean {
  return outcome === "incomplete" || (status >= 400 && outcome !== "client_left");
}

function addAt(numbers: Float64Array, slot: number, amount: number): void {
  numbers[slot] = (numbers[slot] ?? 0) + amount;
}

function count(buckets: Uint16Array, slot: number, milliseconds: number): void {
  const bucket =
    milliseconds <= 1 ? 0 : Math.min(BUCKETS - 1, Math.ceil(Math.log(milliseconds) / LOG_GROWTH));
  const at = slot * BUCKETS + bucket;
  const before = buckets[at] ?? 0;
  if (before < MAX_IN_BUCKET) buckets[at] = before + 1;
}

function countsIn(buckets: Uint16Array, slot: number): number[] {
  return [...buckets.subarray(slot * BUCKETS, (slot + 1) * BUCKETS)];
}

/** Returns the value below which this share of the histogram lies, to within one bucket; null if it is empty. */
export function quantile(counts: readonly number[], share: number): number | null {
  const total = counts.reduce((sum, each) => sum + each, 0);
  if (total === 0) return null;
  let rank = share * total;
  for (const [bucket, inBucket] of counts.entries()) {
    if (inBucket === 0 || rank > inBucket) {
      rank -= inBucket;
      continue;
    }
    const lower = bucket === 0 ? 0 : 1.5 ** (bucket - 1);
    return lower + (1.5 ** bucket - lower) * (rank / inBucket);
  }
  return 1.5 ** (counts.length - 1);
}
