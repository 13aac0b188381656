// Runs a started gateway until a signal stops it, and drains it as the settings say.
import { systemClock, type Clock } from "../base/clock.ts";
import type { Settings } from "../config/settings.ts";
import type { Gatehouse } from "../main.ts";
import type { Log } from "../telemetry/log/log.ts";

/** Under npm, Ctrl-C in a terminal reaches the process twice. A signal after this time is a second one by the user. */
const SAME_SIGNAL_MS = 1000;

export interface ReceivedSignal {
  readonly name: "SIGTERM" | "SIGINT";
  /** Resolves when a second signal arrives that is not a duplicate of the first. */
  readonly again: Promise<undefined>;
}

interface SignalSource {
  on(name: "SIGTERM" | "SIGINT", listener: () => void): unknown;
}

/** Call it before anything is started, so that no signal is missed. */
export function awaitSignal(
  source: SignalSource = process,
  clock: Clock = systemClock,
): Promise<ReceivedSignal> {
  return new Promise((resolve) => {
    let firstAt: number | null = null;
    const { promise: again, resolve: resolveAgain } = Promise.withResolvers<undefined>();
    for (const name of ["SIGTERM", "SIGINT"] as const) {
      source.on(name, () => {
        if (firstAt !== null && clock.now() - firstAt > SAME_SIGNAL_MS) resolveAgain(undefined);
        firstAt ??= clock.now();
        resolve({ name, again });
      });
    }
  });
}

export async function runUntil(
  signal: Promise<ReceivedSignal>,
  gatehouse: Gatehouse,
  settings: Settings,
  log: Log,
): Promise<void> {
  const { name, again } = await Promise.race([signal, gatehouse.failed]);
  log.info({ signal: name }, "draining");
  gatehouse.beginDrain();
  const drained = (async () => {
    if (name === "SIGTERM") await Bun.sleep(settings.DRAIN_DELAY_MS);
    await gatehouse.stop(settings.DRAIN_SECONDS);
    return "stopped";
  })();
  log.info(await Promise.race([drained, again.then(() => "stopped immediately by a second signal")]));
}
