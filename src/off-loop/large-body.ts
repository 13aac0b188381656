// The size from which the work on a body is done in a worker thread.

/** Below it, starting a task takes longer than the work itself, and even hostile content delays other requests only briefly. */
export const LARGE_BODY_BYTES = 256 * 1024;
