// Repeats a write after isolated plugins were started. A transaction must not wait for that, because all other writes would wait with it, and
// its deadline is shorter.
import { newId } from "../base/ids.ts";

/** Other writes may change the gateway meanwhile, so that its isolates end again. The last attempt waits in its transaction. */
const MAX_ATTEMPTS = 4;

/** Thrown in a transaction to roll it back. */
export class IsolatesMissing extends Error {
  override readonly name = "IsolatesMissing";
  /** Resolves when the isolates are started, or cannot be. */
  readonly starting: Promise<void>;

  constructor(starting: Promise<void>) {
    super("isolated plugins have to be started first");
    starting.catch(() => undefined);
    this.starting = starting;
  }
}

/**
 * Calls `attempt` until it does not reject with IsolatesMissing. All attempts get the same ids for new records, because isolates belong to
 * the ids of gateways and plugin entries.
 */
export async function writeWithIsolates<T>(
  attempt: (mayWait: boolean, newRecordId: () => string) => Promise<T>,
): Promise<T> {
  const ids: string[] = [];
  for (let count = 1; ; count++) {
    let used = 0;
    try {
      return await attempt(count === MAX_ATTEMPTS, () => (ids[used++] ??= newId()));
    } catch (error) {
      if (!(error instanceof IsolatesMissing)) throw error;
      await error.starting;
    }
  }
}
