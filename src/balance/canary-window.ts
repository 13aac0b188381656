// The recent results of a canary and of the other targets of its virtual model, and whether the canary is too much worse.

/** Results of the canary, or of the other targets. */
interface Tally {
  requests: number;
  errors: number;
  /** Responses whose time to the first byte is known, and the sum of these times. */
  responses: number;
  firstByteMs: number;
}

export interface ArmCounts {
  readonly canary: Readonly<Tally>;
  readonly stable: Readonly<Tally>;
}

export type Arm = keyof ArmCounts;

interface RollbackCondition {
  readonly error_ratio: number | null;
  readonly first_byte_ratio: number | null;
  readonly min_requests: number;
}

/**
 * Results are kept in parts, which are as long in time for the canary as for the other targets: an outage that concerns all of them
 * must not look like one of the canary. The oldest part is forgotten, so that past success does not hide a failure for long.
 */
const PARTS_PER_MINIMUM = 8;
const MAX_PARTS = 4 * PARTS_PER_MINIMUM;

export class CanaryWindow {
  readonly #partSize: number;
  readonly #parts: Record<Arm, Tally>[] = [emptyCounts()];
  readonly #counts = emptyCounts();

  constructor(minRequests: number) {
    this.#partSize = Math.ceil(minRequests / PARTS_PER_MINIMUM);
  }

  get counts(): ArmCounts {
    return this.#counts;
  }

  /** `firstByteMs` is null without a successful response. */
  record(arm: Arm, isError: boolean, firstByteMs: number | null): void {
    let part = this.#parts.at(-1) ?? emptyCounts();
    if (Math.min(part.canary.requests, part.stable.requests) >= this.#partSize)
      this.#parts.push((part = emptyCounts()));
    const result = {
      requests: 1,
      errors: isError ? 1 : 0,
      responses: firstByteMs === null ? 0 : 1,
      firstByteMs: firstByteMs ?? 0,
    };
    add(part[arm], result, 1);
    add(this.#counts[arm], result, 1);
    const oldest = this.#parts.length > MAX_PARTS ? this.#parts.shift() : undefined;
    if (oldest === undefined) return;
    add(this.#counts.canary, oldest.canary, -1);
    add(this.#counts.stable, oldest.stable, -1);
  }
}

function emptyCounts(): Record<Arm, Tally> {
  const empty = () => ({ requests: 0, errors: 0, responses: 0, firstByteMs: 0 });
  return { canary: empty(), stable: empty() };
}

function add(to: Tally, from: Readonly<Tally>, sign: 1 | -1): void {
  to.requests += sign * from.requests;
  to.errors += sign * from.errors;
  to.responses += sign * from.responses;
  to.firstByteMs += sign * from.firstByteMs;
}

/** Adds up the counts of several nodes. */
export function sumCounts(all: readonly ArmCounts[]): ArmCounts {
  const sum = emptyCounts();
  for (const { canary, stable } of all) {
    add(sum.canary, canary, 1);
    add(sum.stable, stable, 1);
  }
  return sum;
}

/** Returns why the canary has to be switched off; null if it may go on. */
export function rollbackReason(
  { canary, stable }: ArmCounts,
  { error_ratio, first_byte_ratio, min_requests }: RollbackCondition,
): string | null {
  if (Math.min(canary.requests, stable.requests) < min_requests) return null;
  if (error_ratio !== null && canary.errors > 0) {
    const [tried, usual] = [canary.errors / canary.requests, stable.errors / stable.requests];
    // Without errors of the other targets every error would be infinitely many times as many. A canary that only fails is
    // always switched off.
    const least = Math.min(1 / min_requests, 1 / error_ratio);
    if (tried / Math.max(usual, least) >= error_ratio - ROUNDING)
      return `The canary failed ${describeErrors(canary)}, the other targets ${describeErrors(stable)}; error_ratio is ${error_ratio}.`;
  }
  if (first_byte_ratio !== null && canary.responses > 0 && stable.responses > 0) {
    const [tried, usual] = [meanOf(canary), meanOf(stable)];
    if (tried / usual >= first_byte_ratio)
      return `The canary took ${Math.round(tried)} ms to the first byte, the other targets ${Math.round(usual)} ms; first_byte_ratio is ${first_byte_ratio}.`;
  }
  return null;
}

/** 6 of 30 requests are twice as many as 3 of 30, although 0.2 / 0.1 may be a little less than 2. */
const ROUNDING = 1e-9;

function describeErrors({ errors, requests }: Tally): string {
  return `${errors} of ${requests} requests (${((100 * errors) / requests).toFixed(1)} %)`;
}

function meanOf({ firstByteMs, responses }: Tally): number {
  return firstByteMs / responses;
}
