// What the event loop and the thread of the watchdog share. Loads nothing, because the thread should stay small.

/** Indexes of the shared memory: the number of heartbeats, and 1 if the process is stopping. */
export const BEATS = 0;
export const IS_STOPPING = 1;
export const SHARED_BYTES = 2 * Int32Array.BYTES_PER_ELEMENT;

/** Contains a `Restart` as JSON in a process that replaces one that hung. */
export const RESTART_VARIABLE = "GATEHOUSE_WATCHDOG_RESTART";

/** What the thread needs to watch and to replace its process. */
export interface WatchOrder {
  readonly shared: SharedArrayBuffer;
  readonly limitMs: number;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Restarts by a watchdog so far. */
  readonly restarts: number;
}
