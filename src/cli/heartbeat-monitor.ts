// Decides whether a process hangs, from the heartbeats of its event loop and the processor time of its main thread.

/** Heartbeats are sent and checked this often per limit. */
export const CHECKS_PER_LIMIT = 10;
/** A process that uses no processor time may be starved by other processes, so it gets this many times the limit. */
const IDLE_FACTOR = 6;
/**
 * A main thread that has used this share of the limit without a heartbeat loops. On an idle machine an endless loop uses nearly
 * all of the time, but others may leave it a fraction. Regular code returns to the event loop within milliseconds.
 */
const BUSY_SHARE = 0.2;

export interface MainThread {
  /** Processor time since its start. */
  readonly cpuMs: number;
  /** Stopped by SIGSTOP or a debugger. */
  readonly isStopped: boolean;
}

/** The facts about a process that hangs. */
export interface Hang {
  readonly silentMs: number;
  /** Processor time of the main thread during the silence; null if the system does not report it. */
  readonly cpuMs: number | null;
}

/**
 * Counts checks instead of reading a clock: while the machine or the monitoring process is suspended, no check happens, so
 * a clock that jumps does not count as silence.
 */
export class HeartbeatMonitor {
  readonly checkEveryMs: number;
  readonly #limitMs: number;
  #lastBeats = NaN;
  #missedChecks = 0;
  #cpuMsAtFirstMiss: number | null = null;

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
    this.checkEveryMs = limitMs / CHECKS_PER_LIMIT;
  }

  /** Call it every `checkEveryMs` with the number of heartbeats so far. Returns null unless the process hangs. */
  check(beats: number, readMainThread: () => MainThread | null): Hang | null {
    if (beats !== this.#lastBeats) {
      this.#lastBeats = beats;
      this.#missedChecks = 0;
      return null;
    }
    const thread = readMainThread();
    if (thread?.isStopped === true) {
      this.#missedChecks = 0;
      return null;
    }
    if (this.#missedChecks++ === 0) this.#cpuMsAtFirstMiss = thread?.cpuMs ?? null;
    const silentMs = this.#missedChecks * this.checkEveryMs;
    const cpuMs =
      thread === null || this.#cpuMsAtFirstMiss === null ? null : thread.cpuMs - this.#cpuMsAtFirstMiss;
    const limitMs =
      cpuMs !== null && cpuMs >= this.#limitMs * BUSY_SHARE ? this.#limitMs : this.#limitMs * IDLE_FACTOR;
    return silentMs >= limitMs ? { silentMs, cpuMs } : null;
  }
}
