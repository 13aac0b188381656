// Decides when the calls of plugins in shadow mode run: several together, at moments when they delay no request, and each in a turn of the
// event loop of its own. Between two turns, the loop serves what has arrived meanwhile, so that a request waits for one call at most.
import type { Clock, ClockTimer } from "../../base/clock.ts";
import type { CoarseDeadlines } from "../../http/coarse-deadlines.ts";

/**
 * Calls wait for others. After a request, the caches of the CPU do not have the code of the plugins, so that a single call takes a
 * multiple of the time that it takes among others, and the next request finds caches without its own code.
 */
const COLLECT_MS = 10;
/** A call waits for this time at most, also if there was no quiet moment. */
export const MAX_WAIT_MS = 20;

/**
 * The part of the waiting calls that run in one turn when they cannot wait any longer. With one call per turn, a busy gateway would not
 * keep up with its requests.
 */
const SHARE_PER_TURN = 1 / 4;

/** The calls that wait at the end of the process have this time to start. */
const DRAIN_MS = 1000;

/** The requests in flight in this process. */
interface RequestsInFlight {
  readonly count: number;
  /** Called when a request has ended. */
  onLeave: (() => void) | null;
}

/** What runs in a turn of the event loop. */
export interface Turn {
  /** Must not throw. */
  run(): void;
}

export class ShadowTurns {
  readonly deadlines: CoarseDeadlines;
  readonly #inFlight: RequestsInFlight;
  readonly #clock: Clock;
  readonly #waiting: Turn[] = [];
  /** When each of them was added. */
  readonly #addedAt: number[] = [];
  /** How many of the waiting calls run as soon as possible: the first ones. */
  #urgent = 0;
  /** Callbacks of the event loop that will run a call if it may run. */
  #scheduled = 0;
  /**
   * A moment is quiet if no more requests than this are in flight: 0, or the number of those that stay open for long, such as streams and
   * requests to slow providers. Unlike a request that was just received, they do not need the CPU at the moment.
   */
  #longRequests = 0;
  /** The fewest requests in flight since the timer was started. */
  #lowestCount = 0;
  #timer: ClockTimer | null = null;
  #isDraining = false;

  constructor(inFlight: RequestsInFlight, deadlines: CoarseDeadlines) {
    this.#inFlight = inFlight;
    this.deadlines = deadlines;
    this.#clock = deadlines.clock;
  }

  /**
   * Calls `run` in a later turn of the event loop, after those that were added before. An urgent call and those before it wait neither
   * for others nor for a quiet moment.
   */
  add(turn: Turn, isUrgent: boolean): void {
    this.#waiting.push(turn);
    this.#addedAt.push(this.#clock.now());
    this.#inFlight.onLeave = this.#onLeave;
    if (isUrgent) this.#urgent = this.#waiting.length;
    if (this.#scheduled === 0) this.#continue();
  }

  /** Resolves when no call waits any more, or after a second. From now on, calls run as soon as possible. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    const endsAt = this.#clock.now() + DRAIN_MS;
    if (this.#scheduled === 0) this.#continue();
    while (this.#waiting.length > 0 && this.#clock.now() < endsAt)
      await new Promise((resolve) => setImmediate(resolve));
  }

  readonly #onLeave = () => {
    const { count } = this.#inFlight;
    if (count < this.#lowestCount) this.#lowestCount = count;
    if (count > this.#longRequests) return;
    this.#longRequests = count;
    if (this.#scheduled === 0 && this.#waiting.length > 0) this.#continue();
  };

  /** Call if nothing is scheduled. */
  #continue(): void {
    const addedAt = this.#addedAt[0];
    if (addedAt === undefined) return;
    const waited = this.#clock.now() - addedAt;
    if (this.#mustRun() || (waited >= COLLECT_MS && this.#isQuiet())) this.#begin();
    else this.#startTimer((waited < COLLECT_MS ? COLLECT_MS : MAX_WAIT_MS) - waited);
  }

  #isQuiet(): boolean {
    return this.#inFlight.count <= this.#longRequests;
  }

  #mustRun(): boolean {
    if (this.#urgent > 0 || this.#isDraining) return true;
    const addedAt = this.#addedAt[0];
    return addedAt !== undefined && this.#clock.now() - addedAt >= MAX_WAIT_MS;
  }

  /** One turn later, because the loop reads from sockets between two turns: what has arrived meanwhile is in flight then. */
  #begin(): void {
    this.#scheduled = 1;
    setImmediate(this.#schedule);
  }

  /** One callback per call, so that the promises of a call settle before the next call runs. */
  readonly #schedule = () => {
    this.#scheduled = this.#mustRun() ? Math.ceil(this.#waiting.length * SHARE_PER_TURN) : 1;
    for (let call = 0; call < this.#scheduled; call++) setImmediate(this.#runNext);
  };

  readonly #runNext = () => {
    this.#scheduled--;
    const call = this.#isQuiet() || this.#mustRun() ? this.#takeFirst() : undefined;
    if (call !== undefined && this.#urgent > 0) this.#urgent--;
    if (this.#scheduled === 0 && this.#waiting.length > 0) {
      if (call === undefined) this.#continue();
      else this.#schedule();
    }
    call?.run();
  };

  #takeFirst(): Turn | undefined {
    this.#addedAt.shift();
    return this.#waiting.shift();
  }

  #startTimer(milliseconds: number): void {
    if (this.#timer !== null) return;
    this.#lowestCount = this.#inFlight.count;
    this.#timer = this.#clock.setTimeout(this.#onTimer, milliseconds);
  }

  readonly #onTimer = () => {
    this.#timer = null;
    if (this.#waiting.length === 0) return;
    this.#longRequests = this.#lowestCount;
    if (this.#scheduled === 0) this.#continue();
  };
}
