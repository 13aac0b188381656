// Opens streams of servers again after they have ended: each with pauses that grow, and those of one server at a bounded rate, whatever
// the server does.
import { BoundedCache } from "../base/bounded-cache.ts";
import type { Clock } from "../base/clock.ts";
import { ServerStatusError } from "./server-call.ts";

const MIN_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 30_000;
/** Between two streams to one server, those of all clients of this process. */
const SPACING_MS = 20;
const KEPT_SERVERS = 2000;
/** The client may not have the stream, or there is none. */
const FINAL: ReadonlySet<number> = new Set([401, 403, 405]);

/** The server has no stream of messages that belong to no request. */
export class NoStreamError extends Error {
  override readonly name = "NoStreamError";
}

export class Reconnects {
  readonly #clock: Clock;
  /** When the next stream to a server may be opened again, by tag. */
  readonly #nextAt = new BoundedCache<string, number>(KEPT_SERVERS);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Calls `open` again and again. It resolves or rejects when its stream ends, and passes the milliseconds on that the server wants
   * clients to wait. Resolves when the signal is aborted, or when the server says that it has no stream.
   */
  async keepOpen(
    { tag }: { readonly tag: string },
    signal: AbortSignal,
    open: (onRetry: (milliseconds: number) => void) => Promise<void>,
  ): Promise<void> {
    let wantedMs = MIN_PAUSE_MS;
    let pauseMs = 0;
    while (!signal.aborted) {
      const openedAt = this.#clock.now();
      try {
        await open((milliseconds) => (wantedMs = bounded(milliseconds)));
      } catch (error) {
        if (hasNoStream(error)) return;
      }
      // Only a stream that lasts longer than the pause before it is no reason to wait longer.
      const hasLasted = this.#clock.now() - openedAt >= pauseMs;
      pauseMs = hasLasted ? wantedMs : bounded(Math.max(wantedMs, 2 * pauseMs));
      await pause(pauseMs, signal, this.#clock);
      if (!signal.aborted) await this.#turn(tag, signal);
    }
  }

  /** Resolves when the next stream to the server may be opened. */
  async #turn(tag: string, signal: AbortSignal): Promise<void> {
    const now = this.#clock.now();
    const at = Math.max(now, this.#nextAt.get(tag) ?? now);
    this.#nextAt.set(tag, at + SPACING_MS);
    await pause(at - now, signal, this.#clock);
  }
}

function bounded(milliseconds: number): number {
  return Math.min(Math.max(milliseconds, MIN_PAUSE_MS), MAX_PAUSE_MS);
}

/** Any other response may be a different one later: the server restarts, or has not noticed that the stream before has ended (409). */
function hasNoStream(error: unknown): boolean {
  return error instanceof NoStreamError || (error instanceof ServerStatusError && FINAL.has(error.status));
}

/** Resolves after this time, or when the signal is aborted. */
export function pause(milliseconds: number, signal: AbortSignal, clock: Clock): Promise<void> {
  if (signal.aborted || milliseconds <= 0) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = clock.setTimeout(() => resolve(undefined), milliseconds);
  const stop = () => {
    timer.close();
    resolve(undefined);
  };
  signal.addEventListener("abort", stop, { once: true });
  return promise.then(() => signal.removeEventListener("abort", stop));
}
