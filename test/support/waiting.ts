// Waits that tests share. A test waits for a condition, never for a fixed time.
import type { ManualClock } from "../../src/base/manual-clock.fixture.ts";

/** Generous, for a busy machine; shorter than the timeout of tests, whose message would not name the condition. */
const DEADLINE_MS = 40_000;
/** The first waits between two checks. Later ones grow with the time that has passed: a check may be a request. */
const MIN_POLL_MS = 10;
const MAX_POLL_MS = 50;
/** Less than a connection may take by any of its timeouts. */
const RECONNECT_STEP_MS = 10;

/** Polls until `check` returns a value other than null and undefined, and resolves to it; rejects after the deadline. */
export function waitFor<T>(
  check: () => T | null | undefined | Promise<T | null | undefined>,
  deadlineMs = DEADLINE_MS,
): Promise<T> {
  return poll(check, deadlineMs, check.toString());
}

/** Polls until the condition holds; rejects after the deadline. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  deadlineMs = DEADLINE_MS,
): Promise<void> {
  await poll(async () => ((await condition()) ? true : null), deadlineMs, condition.toString());
}

async function poll<T>(
  check: () => T | null | undefined | Promise<T | null | undefined>,
  deadlineMs: number,
  source: string,
): Promise<T> {
  const start = performance.now();
  for (;;) {
    const found = await check();
    // An element of a list that is still empty is undefined.
    if (found !== null && found !== undefined) return found;
    const elapsed = performance.now() - start;
    if (elapsed > deadlineMs) throw new Error(`no result within ${deadlineMs} ms: ${source}`);
    await Bun.sleep(Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, elapsed / 10)));
  }
}

interface ConnectingLedger {
  readonly settled: Promise<void>;
  readonly state: { readonly state: string };
}

/** Waits until a ledger is connected to Redis. On a busy machine the first attempt may fail, and the next one waits for the clock. */
export async function untilConnected(ledger: ConnectingLedger, clock: ManualClock): Promise<void> {
  await ledger.settled;
  await waitUntil(() => {
    if (ledger.state.state !== "ok") clock.advance(RECONNECT_STEP_MS);
    return ledger.state.state === "ok";
  });
}

/** Waits for turns of the event loop: work that only needs promises and immediates is done afterwards. */
export async function eventLoopTurns(count = 5): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Long enough for bytes that are on their way between the clients, the gateway, and the providers of this process. */
const STEP_PAUSE_MS = 1;

/** Lets time pass, ten times faster than in reality, until the promise settles. */
export async function passTimeUntil<T>(clock: ManualClock, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const settle = () => {
    isSettled = true;
  };
  promise.then(settle, settle);
  for (;;) {
    await Bun.sleep(STEP_PAUSE_MS);
    if (isSettled) return promise;
    clock.advance(10 * STEP_PAUSE_MS);
  }
}

/** Pauses for a random time, so that repeated failures hit a process at different moments. */
export function randomPause(maxMs: number): Promise<void> {
  return Bun.sleep(Math.random() * maxMs);
}

const STABLE_MS = 200;

/**
 * Resolves to a number that has stopped changing. For what only the kernel knows, such as how many bytes fit into the
 * socket buffers of a connection whose reader has paused.
 */
export async function untilStable(read: () => number): Promise<number> {
  for (let before = NaN; ;) {
    const value = read();
    if (value === before) return value;
    before = value;
    await Bun.sleep(STABLE_MS);
  }
}
