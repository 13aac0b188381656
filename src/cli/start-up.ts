// What start-up leaves behind. It runs nearly every line once: machine code made for it, and the objects it dropped, would
// stay in memory for as long as the gateway is idle.

/** That many times more often than usual a function must run before it is compiled: none does while the gateway starts. */
const RELUCTANCE = 1000;
const AS_USUAL = 1;
/** The first answer should not wait for a collection. */
const COLLECT_AFTER_MS = 100;

/** To be called before the gateway is loaded. */
export function beginStartUp(): void {
  Bun.unsafe.setJITPolicy(RELUCTANCE);
}

/** Loading the modules is over: what comes takes the room of what they dropped. */
export function collectAfterLoading(): void {
  Bun.gc(true);
}

/** To be called when the gateway listens: from here on what runs often is compiled as usual. */
export function endStartUp(): void {
  Bun.unsafe.setJITPolicy(AS_USUAL);
  setTimeout(() => Bun.gc(true), COLLECT_AFTER_MS).unref();
}
