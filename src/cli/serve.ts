// gatehouse serve: runs the gateway until a signal ends it.
import { readSettings } from "../base/settings.ts";
import { startGatehouse, type Role } from "../main.ts";
import { createLog } from "../telemetry/log.ts";
import { readFlags, UsageError, type Command } from "./command.ts";

const ROLES: readonly Role[] = ["admin", "proxy", "all"];
/** A terminal's Ctrl-C reaches the process twice through npm; what comes later than this is meant. */
const SAME_SIGNAL_MS = 1000;

export const serve: Command = {
  summary: "start the gateway (what npm start runs)",
  help: `Usage: gatehouse serve [--role admin|proxy|all]

Starts the Admin API and the data plane, or one of them. Settings come from the environment or a .env file.`,
  run: async (words) => {
    const role = roleFrom(readFlags(words, ["--role"]).get("--role") ?? "all");
    const settings = readSettings(process.env);
    const pretty = settings.LOG_FORMAT === null ? process.stdout.isTTY : settings.LOG_FORMAT === "pretty";
    const log = createLog({ level: settings.LOG_LEVEL, format: pretty ? "pretty" : "json" }, process.stdout);
    const signal = waitForSignal();
    const gatehouse = await startGatehouse(settings, role, log);
    const { name, again } = await Promise.race([signal, gatehouse.failed]);
    log.info({ signal: name }, "draining");
    gatehouse.beginDrain();
    const drained = (async () => {
      if (name === "SIGTERM") await Bun.sleep(settings.DRAIN_DELAY_MS);
      await gatehouse.stop(settings.DRAIN_SECONDS);
      return "stopped";
    })();
    log.info(await Promise.race([drained, again.then(() => "stopped at once by a second signal")]));
    return 0;
  },
};

function roleFrom(text: string): Role {
  const role = ROLES.find((each) => each === text);
  if (role === undefined) throw new UsageError(`--role is "${text}"; give one of ${ROLES.join(", ")}`);
  return role;
}

interface ReceivedSignal {
  readonly name: "SIGTERM" | "SIGINT";
  /** Resolves when a further signal comes that is not the echo of the first. */
  readonly again: Promise<undefined>;
}

function waitForSignal(): Promise<ReceivedSignal> {
  return new Promise((resolve) => {
    let firstAt: number | null = null;
    const { promise: again, resolve: comeAgain } = Promise.withResolvers<undefined>();
    for (const name of ["SIGTERM", "SIGINT"] as const) {
      process.on(name, () => {
        if (firstAt !== null && performance.now() - firstAt > SAME_SIGNAL_MS) comeAgain(undefined);
        firstAt ??= performance.now();
        resolve({ name, again });
      });
    }
  });
}
