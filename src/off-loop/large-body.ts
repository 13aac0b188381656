// When the work on a body is done in a worker thread, and for how long.

/** Below it, starting a task takes longer than the work itself, and even hostile content delays other requests only briefly. */
export const LARGE_BODY_BYTES = 256 * 1024;

/** Limit for parsing or translating one body, waiting for a thread included. */
export const LARGE_BODY_TIMEOUT_MS = 30_000;
