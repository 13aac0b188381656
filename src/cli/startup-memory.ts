// Reduces the memory that startup leaves behind. Startup runs nearly every line once: the machine code compiled for it and
// the objects it dropped would stay in memory for as long as the gateway is idle. See decisions 0001 and 0054.
import { prepareRelease } from "./release-code.ts";

/** A function must run this many times more often than usual before it is compiled: none is compiled during startup. */
const STARTUP_JIT_FACTOR = 1000;
const NORMAL_JIT_FACTOR = 1;
/** Delay of what reduces memory, so that the first response does not wait for it. */
const REDUCE_AFTER_MS = 100;
/**
 * The code of the runtime's compilers is needed in the first seconds of load, and rarely later: code is released again after 10, 100 and
 * 1000 s, and then every hour. Not more often, because the next request takes about 0.3 ms longer.
 */
const DELAY_FACTOR = 10;
const FIRST_DELAY_MS = 10_000;
const MAX_DELAY_MS = 3_600_000;

/** Call it before the gateway's modules are loaded. */
export function beginStartup(): void {
  Bun.unsafe.setJITPolicy(STARTUP_JIT_FACTOR);
}

/** Call it when the gateway listens: functions that run often are compiled as usual from here on. */
export function endStartup(): void {
  Bun.unsafe.setJITPolicy(NORMAL_JIT_FACTOR);
  setTimeout(() => {
    Bun.gc(true);
    // If it fails, for example without /proc, the gateway only takes more memory.
    void prepareRelease().then(
      (release) => releaseNowAndAfter(FIRST_DELAY_MS, release),
      () => undefined,
    );
  }, REDUCE_AFTER_MS).unref();
}

function releaseNowAndAfter(delayMs: number, release: () => void): void {
  release();
  const next = Math.min(MAX_DELAY_MS, delayMs * DELAY_FACTOR);
  setTimeout(() => releaseNowAndAfter(next, release), delayMs).unref();
}
