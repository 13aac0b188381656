// A timeout for one promise. Each call starts a timer; per-request waits use the cheaper http/coarse-deadlines.ts.
import { systemClock, type Clock } from "./clock.ts";

/** Settles like `work`, or rejects with the error of `createError` if `work` takes longer. */
export async function withTimeout<T>(
  milliseconds: number,
  work: Promise<T>,
  createError: () => Error,
  clock: Clock = systemClock,
): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const timer = clock.setTimeout(() => reject(createError()), milliseconds);
  try {
    return await Promise.race([work, expired]);
  } finally {
    timer.close();
  }
}
