// The limit of the work of one inspection. Work is counted in steps, not in time, so that the same text always has the same result. A step
// is a matcher that is tried or a few code units that are read, and takes 5 to 15 ns in hostile text.

/** 0.2 to 0.5 ms: a short text may consist of nothing but code. */
const BASE_STEPS = 30_000;
/**
 * 10 to 30 ns per byte. Prose takes 0.25 to 0.35 steps per byte, ordinary programs 0.5 to 1.3, one in a thousand more than the limit, and the
 * worst known text more than 200 without a limit (`npm run fuzz:sanitation`).
 */
const STEPS_PER_BYTE = 1.75;

/** Returns the steps that the inspection of a text of this size may take. */
export function stepsFor(bytes: number): number {
  return BASE_STEPS + bytes * STEPS_PER_BYTE;
}

/** Returns the steps that the inspection of a body may take. One that is not JSON is scanned as a whole, and its values by themselves. */
export function stepsForBody(bytes: number, isJson: boolean): number {
  return stepsFor(isJson ? bytes : 2 * bytes);
}

/** Returns the steps of normalizing units, or of reading them in the automaton. Both together take 3 ns per unit. */
export function stepsToScan(units: number): number {
  return 1 + (units >> 3);
}

/** Returns the steps of reading units in a short loop, which takes a quarter of a step per unit. */
export function stepsToRead(units: number): number {
  return 1 + (units >> 2);
}

/** Counts the work of a scan. */
export interface WorkCounter {
  steps: number;
  /** Scans that take more steps throw WorkExhausted. */
  limit: number;
}

export function unlimitedWork(): WorkCounter {
  return { steps: 0, limit: Infinity };
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
