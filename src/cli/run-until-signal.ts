// Runs a started gateway until a signal stops it, and drains it as the settings say.
import { systemClock, type Clock } from "../base/clock.ts";
import type { Settings } from "../config/settings.ts";
import type { Gatehouse } from "../main.ts";
import type { Log } from "../telemetry/log/log.ts";
import { watchTerminal } from "./controlling-terminal.ts";

/** Under npm, Ctrl-C in a terminal reaches the process twice. A signal after this time is a second one by the user. */
const SAME_SIGNAL_MS = 1000;
/** A shell may send SIGHUP shortly before its terminal is gone. */
const TERMINAL_CHECK_MS = 1000;
/** Without a listener they would end the process. The runtime ignores SIGPIPE. */
const IGNORED = ["SIGUSR1", "SIGUSR2"] as const;

export interface ReceivedSignal {
  readonly name: "SIGTERM" | "SIGINT" | "SIGHUP";
  /** Resolves when a second signal arrives that is not a duplicate of the first. */
  readonly again: Promise<undefined>;
}

interface SignalSource {
  on(name: ReceivedSignal["name"] | (typeof IGNORED)[number], listener: () => void): unknown;
}

interface SignalOptions {
  readonly source?: SignalSource;
  readonly clock?: Clock;
  /** Whether SIGHUP stops the process: see watchTerminal. A supervisor decides for its workers. */
  readonly isTerminalGone?: () => boolean;
  /** Called on SIGHUP while the terminal is there, or if the process was not started from one. */
  readonly onReload?: () => void;
}

/** Call it before anything is started, so that no signal is missed. */
export function awaitSignal({
  source = process,
  clock = systemClock,
  isTerminalGone = watchTerminal(),
  onReload = () => undefined,
}: SignalOptions = {}): Promise<ReceivedSignal> {
  for (const name of IGNORED) source.on(name, () => undefined);
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
    // It is never the second signal of an impatient user.
    const stopWithTerminal = (): boolean => {
      if (firstAt !== null || !isTerminalGone()) return false;
      firstAt = clock.now();
      resolve({ name: "SIGHUP", again });
      return true;
    };
    source.on("SIGHUP", () => {
      if (firstAt !== null || stopWithTerminal()) return;
      onReload();
      clock.setTimeout(stopWithTerminal, TERMINAL_CHECK_MS).unref();
    });
  });
}

/** Says that there was nothing to do: all settings are read at the start, and the log goes to the standard output. */
export function reportReload(log: Log): void {
  log.info({ signal: "SIGHUP" }, "reload requested; no setting names a file that can be reloaded");
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
