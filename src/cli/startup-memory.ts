// Reduces the memory that startup leaves behind. Startup runs nearly every line once: the machine code compiled for it and
// the objects it dropped would stay in memory for as long as the gateway is idle. See decision 0001.

/** A function must run this many times more often than usual before it is compiled: none is compiled during startup. */
const STARTUP_JIT_FACTOR = 1000;
const NORMAL_JIT_FACTOR = 1;
/** Delay of the last collection, so that the first response does not wait for it. */
const COLLECT_AFTER_MS = 100;

/** Call it before the gateway's modules are loaded. */
export function beginStartup(): void {
  Bun.unsafe.setJITPolicy(STARTUP_JIT_FACTOR);
}

/** Call it when the modules are loaded: the memory of the objects that loading dropped is reused from here on. */
export function collectAfterLoading(): void {
  Bun.gc(true);
}

/** Call it when the gateway listens: functions that run often are compiled as usual from here on. */
export function endStartup(): void {
  Bun.unsafe.setJITPolicy(NORMAL_JIT_FACTOR);
  setTimeout(() => Bun.gc(true), COLLECT_AFTER_MS).unref();
}
