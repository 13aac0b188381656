// Limits of the work of one inspection. Work is counted in steps, not in time, so the same text always has the same result. A step is
// one code unit that is read or one matcher that is tried, and takes about 10 ns.

/** About 10 ms. Enough for 256 kB of prose; a body that needs more is inspected again in a worker thread. */
export const STEPS_ON_LOOP = 1_000_000;

/** Of a body in a worker thread. Ordinary code takes at most 12 steps per unit to mask, the worst known text more than 300. */
const BASE_STEPS = 4_000_000;
const STEPS_PER_UNIT = 16;

/** Returns the steps that the inspection of a body in a worker thread may take: for 10 MB about 2 s. */
export function stepsOffLoop(bytes: number): number {
  return BASE_STEPS + bytes * STEPS_PER_UNIT;
}

/** Counts the work of a scan. */
export interface WorkCounter {
  steps: number;
  /** Scans that take more steps throw WorkExhausted. */
  limit: number;
}

/** Thrown by a scan that exceeds its limit. */
export class WorkExhausted extends Error {
  constructor() {
    super("the work budget of the inspection is exhausted");
    this.name = "WorkExhausted";
  }
}

export function checkWork({ steps, limit }: WorkCounter): void {
  if (steps > limit) throw new WorkExhausted();
}
