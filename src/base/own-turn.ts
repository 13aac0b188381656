// Gives long work several turns of the event loop, so that other requests are served in between. Promises that are settled continue in
// the same turn, so `await` alone gives nothing up.

/** After this time, work continues in another turn. A piece of it that cannot be divided may take longer. */
const TURN_MS = 5;
/** The clock is read once per this much work, so that streams that are read event by event pay an addition. */
const CHECKED_UNITS = 16 * 1024;
/** An item without bytes counts as this many: most of the time is spent per item. */
const ITEM_UNITS = 1024;

/** The turns of one event loop. Those who wait continue in order, as many in one turn as its time allows, and one at least. */
export class Turns {
  readonly #now: () => number;
  readonly #waiting: (() => void)[] = [];
  /** Until when work may continue in this turn. */
  #endsAt = 0;
  /** Whether a callback follows in the next turn. */
  #isWatched = false;
  #hasResumed = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whether the work of this turn, of all callers, has taken its time. It begins with the first call in a turn. */
  get isOver(): boolean {
    if (this.#isWatched) return this.#now() >= this.#endsAt;
    this.#watch();
    return false;
  }

  /** Resolves in a later turn. */
  next(): Promise<void> {
    if (!this.#isWatched) this.#watch();
    // After the callback that begins the turn. One for each, so that the promises of a caller settle before the next one continues.
    setImmediate(this.#resume);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #watch(): void {
    this.#isWatched = true;
    this.#endsAt = this.#now() + TURN_MS;
    setImmediate(this.#begin);
  }

  readonly #begin = () => {
    this.#hasResumed = this.#isWatched = false;
    if (this.#waiting.length > 0) this.#watch();
  };

  readonly #resume = () => {
    if (this.#hasResumed && this.#now() >= this.#endsAt) setImmediate(this.#resume);
    else {
      this.#hasResumed = true;
      this.#waiting.shift()?.();
    }
  };
}

const turns = new Turns(() => performance.now());

/** Resolves in a later turn of the event loop, in which no other caller continues if this one takes long. */
export function ownTurn(): Promise<void> {
  return turns.next();
}

/**
 * Call before a piece of work on this many bytes that cannot be divided. Returns null if it may be done in this turn; otherwise await the
 * promise before it. Pieces of several callers then take no longer than one, unless they are small.
 */
export function waitForTurn(bytes: number): Promise<void> | null {
  return bytes >= CHECKED_UNITS && turns.isOver ? turns.next() : null;
}

/**
 * Measures work on many small items, such as the events of one stream. All meters share the time of a turn: many streams that are fast at
 * the same time take no longer than one.
 */
export class TurnMeter {
  readonly #turns: Turns;
  #units = 0;

  constructor(of: Turns = turns) {
    this.#turns = of;
  }

  /** Call after each item, with its size. Returns null if the next item may follow in this turn; otherwise await the promise before it. */
  add(bytes = 0): Promise<void> | null {
    this.#units += ITEM_UNITS + bytes;
    if (this.#units < CHECKED_UNITS) return null;
    this.#units = 0;
    return this.#turns.isOver ? this.#turns.next() : null;
  }
}
