// The retry budget of one upstream: less than a fifth of its requests in the last ten seconds, but at least ten per
// second. A total outage under high load then causes at most 1.2 times as many requests.

const BUCKET_MS = 100;
const REQUEST_BUCKETS = 100;
// Inexact buckets must lead to fewer retries: requests expire up to one bucket early, retries up to one bucket late.
const RETRY_BUCKETS = REQUEST_BUCKETS + 1;
const REQUESTS_PER_RETRY = 5;
/** So many retries are always allowed in each window. */
const MIN_RETRIES = 10;
const MIN_WINDOW_MS = 1_000;

export class RetryBudget {
  readonly #requests = new Uint32Array(REQUEST_BUCKETS);
  readonly #retries = new Uint32Array(RETRY_BUCKETS);
  #requestSum = 0;
  #retrySum = 0;
  #bucket = -1;
  /** The minimum is exact: the times of the last retries, the oldest at `#oldest`. */
  readonly #lastRetries = new Float64Array(MIN_RETRIES).fill(-Infinity);
  #oldest = 0;

  /** Call once per client request, regardless of the number of attempts. */
  recordRequest(now: number): void {
    this.#advance(now);
    const slot = this.#bucket % REQUEST_BUCKETS;
    this.#requests[slot] = (this.#requests[slot] ?? 0) + 1;
    this.#requestSum++;
  }

  /** Returns whether a retry is allowed now, and counts it if so. */
  tryRetry(now: number): boolean {
    this.#advance(now);
    const isBelowMinimum = now - (this.#lastRetries[this.#oldest] ?? 0) >= MIN_WINDOW_MS;
    const isBelowShare = (this.#retrySum + 1) * REQUESTS_PER_RETRY < this.#requestSum;
    if (!isBelowMinimum && !isBelowShare) return false;
    const slot = this.#bucket % RETRY_BUCKETS;
    this.#retries[slot] = (this.#retries[slot] ?? 0) + 1;
    this.#retrySum++;
    this.#lastRetries[this.#oldest] = now;
    this.#oldest = (this.#oldest + 1) % MIN_RETRIES;
    return true;
  }

  #advance(now: number): void {
    const bucket = Math.floor(now / BUCKET_MS);
    if (bucket <= this.#bucket) return;
    if (this.#bucket < 0 || bucket - this.#bucket >= RETRY_BUCKETS) {
      this.#requests.fill(0);
      this.#retries.fill(0);
      this.#requestSum = 0;
      this.#retrySum = 0;
    } else {
      for (let passed = this.#bucket + 1; passed <= bucket; passed++) this.#expire(passed);
    }
    this.#bucket = bucket;
  }

  #expire(bucket: number): void {
    const requestSlot = bucket % REQUEST_BUCKETS;
    this.#requestSum -= this.#requests[requestSlot] ?? 0;
    this.#requests[requestSlot] = 0;
    const retrySlot = bucket % RETRY_BUCKETS;
    this.#retrySum -= this.#retries[retrySlot] ?? 0;
    this.#retries[retrySlot] = 0;
  }
}
