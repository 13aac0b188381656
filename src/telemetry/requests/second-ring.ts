// Ten minutes of traffic, second by second, in arrays made once: what a second costs does not grow with its requests.
import type { RequestFacts } from "./request-facts.ts";

export const TRAFFIC_SECONDS = 600;
/** Upper bounds grow by half from one millisecond, to five minutes and what is beyond. */
const BUCKETS = 32;
const LOG_GROWTH = Math.log(1.5);
const MOST_IN_BUCKET = 0xffff;
/** Plugins choose codes too. */
const MAX_CODES = 16;
const OTHER = "other";

/** One second of traffic, so that several can be added up. Histograms as counts; see `quantile`. */
export interface TrafficSecond {
  /** Unix seconds. */
  readonly second: number;
  readonly requests: number;
  readonly errors: number;
  readonly durations: readonly number[];
  readonly firstBytes: readonly number[];
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cost: number;
  readonly refused: Readonly<Record<string, number>>;
}

export class SecondRing {
  /** Which second a slot holds. */
  readonly #seconds = new Float64Array(TRAFFIC_SECONDS).fill(-1);
  readonly #requests = new Uint32Array(TRAFFIC_SECONDS);
  readonly #errors = new Uint32Array(TRAFFIC_SECONDS);
  readonly #durations = new Uint16Array(TRAFFIC_SECONDS * BUCKETS);
  readonly #firstBytes = new Uint16Array(TRAFFIC_SECONDS * BUCKETS);
  readonly #inputTokens = new Float64Array(TRAFFIC_SECONDS);
  readonly #outputTokens = new Float64Array(TRAFFIC_SECONDS);
  readonly #cost = new Float64Array(TRAFFIC_SECONDS);
  readonly #refused: (Map<string, number> | null)[] = new Array<null>(TRAFFIC_SECONDS).fill(null);
  /** The last second that anything happened in. */
  lastSecond = -1;

  add(facts: RequestFacts, second: number): void {
    const slot = this.#slotFor(second);
    const { answeredBy, startedAt, endedAt, tokens, cost, errorCode } = facts;
    this.#requests[slot] = (this.#requests[slot] as number) + 1;
    if (isError(facts)) this.#errors[slot] = (this.#errors[slot] as number) + 1;
    count(this.#durations, slot, endedAt - startedAt);
    const firstByteAt = answeredBy?.firstByteAt ?? null;
    if (firstByteAt !== null) count(this.#firstBytes, slot, firstByteAt - startedAt);
    if (tokens !== null) {
      this.#inputTokens[slot] = (this.#inputTokens[slot] as number) + tokens.input;
      this.#outputTokens[slot] = (this.#outputTokens[slot] as number) + tokens.output;
    }
    if (cost !== null) this.#cost[slot] = (this.#cost[slot] as number) + cost;
    // Refused is what was turned away before any provider was asked.
    if (errorCode !== null && facts.attempts.length === 0) this.#refuse(slot, errorCode);
  }

  /** The seconds from `from` to `to` in which something happened, oldest first. */
  read(from: number, to: number): TrafficSecond[] {
    const points: TrafficSecond[] = [];
    for (let second = Math.max(from, to - TRAFFIC_SECONDS + 1); second <= to; second++) {
      const slot = second % TRAFFIC_SECONDS;
      if (this.#seconds[slot] !== second) continue;
      points.push({
        second,
        requests: this.#requests[slot] as number,
        errors: this.#errors[slot] as number,
        durations: [...this.#durations.subarray(slot * BUCKETS, (slot + 1) * BUCKETS)],
        firstBytes: [...this.#firstBytes.subarray(slot * BUCKETS, (slot + 1) * BUCKETS)],
        inputTokens: this.#inputTokens[slot] as number,
        outputTokens: this.#outputTokens[slot] as number,
        cost: this.#cost[slot] as number,
        refused: Object.fromEntries(this.#refused[slot] ?? []),
      });
    }
    return points;
  }

  #slotFor(second: number): number {
    const slot = second % TRAFFIC_SECONDS;
    if (this.#seconds[slot] === second) return slot;
    this.#seconds[slot] = second;
    this.lastSecond = second;
    for (const numbers of [this.#requests, this.#errors, this.#inputTokens, this.#outputTokens, this.#cost])
      numbers[slot] = 0;
    this.#durations.fill(0, slot * BUCKETS, (slot + 1) * BUCKETS);
    this.#firstBytes.fill(0, slot * BUCKETS, (slot + 1) * BUCKETS);
    this.#refused[slot] = null;
    return slot;
  }

  #refuse(slot: number, code: string): void {
    const codes = (this.#refused[slot] ??= new Map<string, number>());
    const name = codes.has(code) || codes.size < MAX_CODES ? code : OTHER;
    codes.set(name, (codes.get(name) ?? 0) + 1);
  }
}

/** Whatever the client could not use; one that left has not been failed. */
function isError({ status, outcome }: RequestFacts): boolean {
  return outcome === "incomplete" || (status >= 400 && outcome !== "client_left");
}

function count(buckets: Uint16Array, slot: number, milliseconds: number): void {
  const bucket =
    milliseconds <= 1 ? 0 : Math.min(BUCKETS - 1, Math.ceil(Math.log(milliseconds) / LOG_GROWTH));
  const at = slot * BUCKETS + bucket;
  const before = buckets[at] as number;
  if (before < MOST_IN_BUCKET) buckets[at] = before + 1;
}

/** The value below which this share of a histogram lies, off by less than a bucket; null of an empty one. */
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
