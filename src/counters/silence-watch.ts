// Owns the judgement that Redis is silent. A plain timer a request would mistake our own burst for that: ten thousand
// queued commands, or a blocked event loop with the answers already in the socket, and exactness would be gone.
import type { Clock, ClockTimer } from "../base/clock.ts";
import { REDIS_SILENT_MS } from "../config/settings.ts";

/**
 * Silence is the time in which a command waits and NOTHING comes back on its connection. Four rules make it honest:
 *
 * 1. Any answer ends it. Redis answers in order, so an answer to an earlier command is progress on this one.
 * 2. It is counted in ticks, and a tick that comes late counts as one tick only: time in which this process did not
 *    run (a long task, a collection, a machine with too few cores) is time in which it could not have heard.
 * 3. When the count is full the event loop first reads its sockets once more.
 * 4. While a burst of ours waits, more commands than a gateway in steady work ever has, Redis gets more time: where it
 *    shares a machine with us, that burst is what keeps it from running.
 *
 * So by default a command is given up 16 to 21 ms after Redis fell silent, plus the lag of our own loop; one sent into a silence
 * sooner. It waits longer only while Redis is answering what this process sent before it, and for at most BACKLOG_MS.
 */
const TICK_MS = 4;
/** What one tick may count: its length and the lateness that timers have in an idle process. */
const TICK_COUNTS_MS = 6;
const BURST_COMMANDS = 512;
const BURST_SILENT_MS = 250;
/** Below the five seconds that a plugin has. A Redis this far behind is no use to the requests that wait for it. */
const BACKLOG_MS = 4000;

export class SilenceWatch {
  readonly #onLost: (why: string) => void;
  readonly #clock: Clock;
  readonly #silentLimitMs: number;
  #sent = 0;
  #answered = 0;
  /** When the last answer came, or the first command was sent after all had been answered. */
  #quietSince = 0;
  #countedTo = 0;
  #silentMs = 0;
  #timer: ClockTimer | null = null;
  #confirming = false;
  /** The newest command at some moment, to see how long Redis takes to get there. */
  #milestone = 0;
  #milestoneAt = 0;

  constructor(onLost: (why: string) => void, clock: Clock, silentMs = REDIS_SILENT_MS) {
    this.#onLost = onLost;
    this.#clock = clock;
    this.#silentLimitMs = silentMs;
  }

  sent(): void {
    if (this.#sent === this.#answered) this.#quietSince = this.#clock.now();
    this.#sent++;
    if (this.#timer !== null) return;
    this.#countedTo = this.#quietSince;
    this.#silentMs = 0;
    this.#setMilestone(this.#quietSince);
    this.#timer = this.#clock.setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  answered(): void {
    this.#answered++;
    this.#quietSince = this.#clock.now();
  }

  stop(): void {
    this.#timer?.close();
    this.#timer = null;
    this.#sent = this.#answered = 0;
  }

  #setMilestone(now: number): void {
    this.#milestone = this.#sent;
    this.#milestoneAt = now;
  }

  #tick(): void {
    // One idle tick ends the watch; the next command starts it again.
    if (this.#sent === this.#answered) {
      this.stop();
      return;
    }
    const now = this.#clock.now();
    if (this.#quietSince >= this.#countedTo) this.#silentMs = 0;
    this.#silentMs += Math.min(now - Math.max(this.#countedTo, this.#quietSince), TICK_COUNTS_MS);
    this.#countedTo = now;
    const isBurst = this.#sent - this.#answered > BURST_COMMANDS;
    const limitMs = isBurst ? Math.max(BURST_SILENT_MS, this.#silentLimitMs) : this.#silentLimitMs;
    if (this.#silentMs >= limitMs) this.#confirm();
    if (this.#answered >= this.#milestone) this.#setMilestone(now);
    else if (now - this.#milestoneAt > BACKLOG_MS) this.#onLost(`is more than ${BACKLOG_MS} ms behind`);
  }

  /** Timers run before sockets are read: of two immediates the second comes after a reading. */
  #confirm(): void {
    if (this.#confirming) return;
    this.#confirming = true;
    const since = this.#quietSince;
    setImmediate(() =>
      setImmediate(() => {
        this.#confirming = false;
        const isStillSilent = this.#quietSince === since && this.#sent > this.#answered;
        if (isStillSilent && this.#timer !== null) this.#onLost("is silent");
      }),
    );
  }
}
