// Owns how many retries one upstream may spend: under a fifth of its requests of the last ten seconds, with three a
// second always allowed. A total outage at high load then costs at most 1.2 times the calls.

const BUCKET_MS = 100;
const REQUEST_BUCKETS = 100;
// Coarse buckets must err towards fewer retries: requests are forgotten up to a bucket early, retries up to one late.
const RETRY_BUCKETS = REQUEST_BUCKETS + 1;
const REQUESTS_PER_RETRY = 5;
const FLOOR_WINDOW_MS = 1_000;

export class RetryBudget {
  readonly #requests = new Uint32Array(REQUEST_BUCKETS);
  readonly #retries = new Uint32Array(RETRY_BUCKETS);
  #requestSum = 0;
  #retrySum = 0;
  #bucket = -1;
  // The floor is exact: the times of the last three retries, latest first.
  #lastRetryAt = -Infinity;
  #secondLastRetryAt = -Infinity;
  #thirdLastRetryAt = -Infinity;

  /** Once per request of a client, whatever the number of its attempts. */
  recordRequest(now: number): void {
    this.#advance(now);
    const slot = this.#bucket % REQUEST_BUCKETS;
    this.#requests[slot] = (this.#requests[slot] ?? 0) + 1;
    this.#requestSum++;
  }

  /** True when a retry may go out now; it is counted then. */
  tryRetry(now: number): boolean {
    this.#advance(now);
    const underFloor = now - this.#thirdLastRetryAt >= FLOOR_WINDOW_MS;
    const underShare = (this.#retrySum + 1) * REQUESTS_PER_RETRY < this.#requestSum;
    if (!underFloor && !underShare) return false;
    const slot = this.#bucket % RETRY_BUCKETS;
    this.#retries[slot] = (this.#retries[slot] ?? 0) + 1;
    this.#retrySum++;
    this.#thirdLastRetryAt = this.#secondLastRetryAt;
    this.#secondLastRetryAt = this.#lastRetryAt;
    this.#lastRetryAt = now;
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
      for (let passed = this.#bucket + 1; passed <= bucket; passed++) this.#empty(passed);
    }
    this.#bucket = bucket;
  }

  #empty(bucket: number): void {
    const requestSlot = bucket % REQUEST_BUCKETS;
    this.#requestSum -= this.#requests[requestSlot] ?? 0;
    this.#requests[requestSlot] = 0;
    const retrySlot = bucket % RETRY_BUCKETS;
    this.#retrySum -= this.#retries[retrySlot] ?? 0;
    this.#retries[retrySlot] = 0;
  }
}
