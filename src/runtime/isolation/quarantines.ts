// The quarantines of a plugin, by entry, and which calls are why an isolate was lost.
import type { Clock } from "../../base/clock.ts";
import type { IsolatedContexts } from "./context-data.ts";
import type { CallState, LostCall } from "./isolate-error.ts";
import type { IsolatedInstance } from "./isolated-instance.ts";
import type { IsolatedHook } from "./messages.ts";
import { Quarantine } from "./quarantine.ts";

interface Call<Hook extends IsolatedHook> {
  readonly instance: IsolatedInstance;
  readonly hook: Hook;
  readonly context: IsolatedContexts[Hook];
}

export class Quarantines {
  readonly #plugin: string;
  readonly #clock: Clock;
  /** By the id of an entry. */
  readonly #byEntry = new Map<string, Quarantine>();

  constructor(plugin: string, clock: Clock) {
    this.#plugin = plugin;
    this.#clock = clock;
  }

  /** Returns whether the call has to run alone, because it may crash the plugin. Throws if it has done so twice. */
  check<Hook extends IsolatedHook>({ instance, hook, context }: Call<Hook>): boolean {
    const isSuspect = this.#byEntry.get(instance.instanceId)?.check(this.#plugin, hook, context) === true;
    // Later hooks have notes in the isolate that ran this one.
    return isSuspect && hook === "pre_request";
  }

  /** Counts crashes of a call. Returns the error of the call. */
  blame<Hook extends IsolatedHook>(
    { instance, hook, context }: Call<Hook>,
    lost: LostCall,
    crashes: number,
  ): Error {
    const quarantine = this.#byEntry.get(instance.instanceId) ?? new Quarantine(this.#clock);
    this.#byEntry.set(instance.instanceId, quarantine);
    return quarantine.add(this.#plugin, hook, context, crashes) ?? lost;
  }

  /** The call has run alone, and has not crashed the plugin. */
  clear<Hook extends IsolatedHook>({ instance, hook, context }: Call<Hook>): void {
    this.#byEntry.get(instance.instanceId)?.clear(hook, context);
  }

  forget(instanceId: string): void {
    this.#byEntry.delete(instanceId);
  }
}

/**
 * Returns how many crashes of the plugin a call that had begun has caused, and null if it is to be repeated, alone. `isAlone`: it was alone.
 * `isLate`: it has no time left. 0 for a call that may be why the isolate was lost: the next time it runs alone.
 */
export function crashesOf(
  { isRepeatable, wasRunning }: CallState,
  isAlone: boolean,
  isLate: boolean,
): number | null {
  if (isAlone) return 2;
  if (isRepeatable && !isLate) return null;
  return wasRunning ? 1 : 0;
}
