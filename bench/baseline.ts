// Compares ratios to nginx with those of a committed baseline.

/** CPU per request as a ratio to nginx, by workload and subject. */
export type Ratios = Readonly<Record<string, Readonly<Record<string, number>>>>;

interface Change {
  readonly workload: string;
  readonly subject: string;
  /** Null if the baseline does not have it. */
  readonly before: number | null;
  readonly now: number;
  readonly isSlower: boolean;
}

/** Machines differ by less than this in the ratio to nginx, and so do runs on one machine. */
export const TOLERANCE = 0.1;

/** Returns all measured ratios; one is slower if it is above the baseline by more than `tolerance`. */
export function compareRatios(baseline: Ratios, measured: Ratios, tolerance = TOLERANCE): Change[] {
  return Object.entries(measured).flatMap(([workload, bySubject]) =>
    Object.entries(bySubject).map(([subject, now]) => {
      const before = baseline[workload]?.[subject] ?? null;
      // The sum of binary fractions is inexact: 10 % above is not slower yet.
      const limit = before === null ? Number.POSITIVE_INFINITY : before * (1 + tolerance) + 1e-9;
      // A subject that responded to nothing has no ratio.
      return { workload, subject, before, now, isSlower: !(now <= limit) };
    }),
  );
}
