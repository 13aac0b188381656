// Isolates run hooks at a lower priority than the gateway, so that a plugin that loops takes the processor time that requests leave over.
import { getPriority, setPriority } from "node:os";

/** A third of the processor time of the gateway if both want all of it. Requests wait for hooks, so it must not be much less. */
const NICE = 5;
const MAX_NICE = 19;
const CALLING_THREAD = 0;
let isLowered = false;

/** Lowers the priority of the calling thread, once. Linux only: other systems would lower that of all threads of the gateway. */
export function lowerPriority(): void {
  if (isLowered || process.platform !== "linux") return;
  isLowered = true;
  try {
    setPriority(CALLING_THREAD, Math.min(MAX_NICE, getPriority() + NICE));
  } catch {
    // The system does not allow it. The plugin works without it.
  }
}
