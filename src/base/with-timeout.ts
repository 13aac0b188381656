// A timeout for one promise. Each call starts a timer; per-request waits use the cheaper http/coarse-deadlines.ts.

/** Settles like `work`, or rejects with the error of `createError` if `work` takes longer. */
export async function withTimeout<T>(
  milliseconds: number,
  work: Promise<T>,
  createError: () => Error,
): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(createError()), milliseconds);
  try {
    return await Promise.race([work, expired]);
  } finally {
    clearTimeout(timer);
  }
}
