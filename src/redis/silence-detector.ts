// Detects that Redis has stopped replying. A timer per request would also fire during a burst of this process (ten thousand
// queued commands) or while its event loop is blocked and the replies are already in the socket. Limits would not be exact.
import type { Clock, ClockTimer } from "../base/clock.ts";

/**
 * Silence is the time in which a command is pending and NO reply arrives on the connection. Four rules avoid false alarms:
 *
 * 1. Any reply ends the silence. Redis replies in order, so a reply to an earlier command is progress.
 * 2. Silence is measured in ticks, and a late tick counts as one tick: while this process did not run (long task, garbage
 *    collection, too few cores), it could not receive a reply.
 * 3. Before Redis is declared unavailable, the event loop reads its sockets once more.
 * 4. While more commands are pending than in normal operation, Redis gets more time: if it runs on the same machine, this
 *    burst is what keeps it from running.
 *
 * With a timeout of 16 ms (the default of REDIS_SILENT_MS), a command is given up 16 to 21 ms after Redis became silent, plus the lag of the event loop; earlier if it was
 * sent during the silence. It waits longer only while Redis replies to earlier commands, and at most BACKLOG_TIMEOUT_MS, which is measured in
 * ticks too: ten thousand requests that arrive at once keep this process busy for longer, and Redis is not behind.
 */
const TICK_MS = 4;
/** The most that one tick counts: its interval and the usual delay of a timer in an idle process. */
const MAX_TICK_MS = 6;
const BURST_COMMANDS = 512;
const BURST_SILENCE_MS = 250;
/** The replies of a Redis with a longer backlog are of no use: clients have given up. */
const BACKLOG_TIMEOUT_MS = 4000;

export class SilenceDetector {
  readonly #onSilence: (reason: string) => void;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  #commands = 0;
  #replies = 0;
  /** Time of the last reply, or of the first command after all earlier ones had a reply. */
  #silentSince = 0;
  #lastTickAt = 0;
  #silentMs = 0;
  #timer: ClockTimer | null = null;
  #isConfirming = false;
  /** The number of commands at an earlier time, to measure how long Redis takes to reply to all of them. */
  #backlogEnd = 0;
  #backlogMs = 0;

  /** `onSilence` gets a reason that follows "Redis at …". */
  constructor(onSilence: (reason: string) => void, clock: Clock, timeoutMs: number) {
    this.#onSilence = onSilence;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  /** The time of the last reply, if a command waits for one since then; else null. */
  get pendingSince(): number | null {
    return this.#commands > this.#replies ? this.#silentSince : null;
  }

  recordCommand(): void {
    if (this.#commands === this.#replies) this.#silentSince = this.#clock.now();
    this.#commands++;
    if (this.#timer !== null) return;
    this.#lastTickAt = this.#silentSince;
    this.#silentMs = 0;
    this.#startBacklog();
    this.#timer = this.#clock.setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  recordReply(): void {
    this.#replies++;
    this.#silentSince = this.#clock.now();
  }

  stop(): void {
    this.#timer?.close();
    this.#timer = null;
    this.#commands = this.#replies = 0;
  }

  #startBacklog(): void {
    this.#backlogEnd = this.#commands;
    this.#backlogMs = 0;
  }

  #tick(): void {
    // Stop after a tick without pending commands; the next command starts the timer again.
    if (this.#commands === this.#replies) {
      this.stop();
      return;
    }
    const now = this.#clock.now();
    if (this.#silentSince >= this.#lastTickAt) this.#silentMs = 0;
    this.#silentMs += Math.min(now - Math.max(this.#lastTickAt, this.#silentSince), MAX_TICK_MS);
    this.#backlogMs += Math.min(now - this.#lastTickAt, MAX_TICK_MS);
    this.#lastTickAt = now;
    const isBurst = this.#commands - this.#replies > BURST_COMMANDS;
    const timeoutMs = isBurst ? Math.max(BURST_SILENCE_MS, this.#timeoutMs) : this.#timeoutMs;
    if (this.#silentMs >= timeoutMs) this.#confirm();
    if (this.#replies >= this.#backlogEnd) this.#startBacklog();
    else if (this.#backlogMs > BACKLOG_TIMEOUT_MS)
      this.#onSilence(`is more than ${BACKLOG_TIMEOUT_MS} ms behind`);
  }

  /** Timers run before sockets are read. Of two nested immediates, the second runs after the sockets were read. */
  #confirm(): void {
    if (this.#isConfirming) return;
    this.#isConfirming = true;
    const since = this.#silentSince;
    setImmediate(() =>
      setImmediate(() => {
        this.#isConfirming = false;
        const isStillSilent = this.#silentSince === since && this.#commands > this.#replies;
        if (isStillSilent && this.#timer !== null) this.#onSilence("does not respond");
      }),
    );
  }
}
