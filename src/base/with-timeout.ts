// A deadline for what is waited for seldom. What every request waits for has coarse-deadlines.ts.

/** What the work comes to, or the fault that `late` makes when it has not ended in time. */
export async function withTimeout<T>(milliseconds: number, work: Promise<T>, late: () => Error): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late()), milliseconds);
  try {
    return await Promise.race([work, expired]);
  } finally {
    clearTimeout(timer);
  }
}
