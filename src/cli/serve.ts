// gatehouse serve: runs the gateway until a signal stops it.
import { systemClock } from "../base/clock.ts";
import { requireServerSecret } from "../config/server-secret.ts";
import { RESOURCE_ATTRIBUTES_FIX } from "../config/setting-parsers.ts";
import { readSettings, type Settings } from "../config/settings.ts";
import type { Role } from "../config/ports.ts";
import type { Listening } from "../main.ts";
import { BatchedSink } from "../telemetry/log/batched-sink.ts";
import { createLog, type Log } from "../telemetry/log/log.ts";
import { parseArguments } from "./arguments.ts";
import { UsageError, type Command } from "./command.ts";
import { rejectTakenPorts } from "./reject-taken-ports.ts";
import { awaitSignal, reportReload, runUntil } from "./run-until-signal.ts";
import { printStartupSummary } from "./startup-summary.ts";
import { beginStartup, endStartup } from "./startup-memory.ts";
import { supervise, workerNumber } from "./supervise.ts";
import { usesColor } from "./terminal.ts";
import { hangFields, readRestart, startHeartbeat, startWatchdog } from "./watchdog.ts";
import { WorkerChannel } from "./worker-channel.ts";

const ROLES: readonly Role[] = ["admin", "proxy", "all"];

export const serve: Command = {
  summary: "start the gateway (npm start runs this)",
  help: `Usage: gatehouse serve [--role admin|proxy|all] [--json]

Starts the Admin API and the data plane, or one of them, in WORKERS processes. With --role proxy, OPERATIONS_PORT serves health
checks and metrics. Reads settings from the environment or
a .env file; docs/settings.md lists them.

  --role ROLE  default all
  --json       log as JSON lines, like LOG_FORMAT=json`,
  run: async (args) => {
    const { values } = parseArguments(args, {
      options: { role: { type: "string", default: "all" }, json: { type: "boolean" } },
    });
    const role = roleFrom(values.role);
    const fromEnvironment = readSettings(process.env);
    const settings: Settings =
      values.json === true ? { ...fromEnvironment, LOG_FORMAT: "json" } : fromEnvironment;
    const worker = workerNumber();
    const log = logFor(settings, worker);
    if (worker === null) reportDiscardedAttributes(settings, log);
    if (settings.WORKERS > 1 && worker === null) {
      requireServerSecret(settings);
      rejectTakenPorts(settings, role);
      if (settings.REDIS_URL === null)
        log.warn(
          { workers: settings.WORKERS },
          "rate limits apply per worker process because REDIS_URL is not set",
        );
      return supervise(settings, args, log);
    }
    const onReload = () => reportReload(log);
    // The terminal sends SIGHUP to workers too. Their supervisor stops them.
    const signal = awaitSignal({ onReload, ...(worker !== null && { isTerminalGone: () => false }) });
    beginStartup();
    // Loaded here, so that a process that only supervises does not load the gateway.
    const { startGatehouse } = await import("../main.ts");
    const channel = worker === null ? null : new WorkerChannel(worker, settings.WORKERS);
    const restart = readRestart();
    if (restart.silentMs !== undefined)
      log.error(
        { restarts: restart.restarts, ...hangFields(restart, settings.WATCHDOG_SECONDS) },
        "process hung; restarted by the watchdog",
      );
    const gatehouse = await startGatehouse(settings, role, log, channel, systemClock, restart.restarts);
    endStartup();
    channel?.reportListening(gatehouse.listening);
    if (channel === null) printStartupSummary(gatehouse.listening, settings);
    const stopWatching = watch(settings.WATCHDOG_SECONDS, args, gatehouse.listening, channel, log);
    void signal.then(stopWatching);
    await runUntil(signal, gatehouse, settings, log);
    return 0;
  },
};

function reportDiscardedAttributes({ OTEL_RESOURCE_ATTRIBUTES: { problem } }: Settings, log: Log): void {
  if (problem === null) return;
  const reason = `OTEL_RESOURCE_ATTRIBUTES ${problem}; ${RESOURCE_ATTRIBUTES_FIX}`;
  log.error({ reason }, "resource attributes discarded");
}

/** Startup may take long, so a process is watched only from here on. */
function watch(
  limitSeconds: number,
  args: readonly string[],
  listening: Listening,
  channel: WorkerChannel | null,
  log: Log,
): () => void {
  if (limitSeconds === 0) return () => undefined;
  if (channel === null) return startWatchdog(limitSeconds, args, listening, log);
  startHeartbeat(limitSeconds, () => channel.reportHeartbeat());
  return () => undefined;
}

export function logFor({ LOG_FORMAT, LOG_LEVEL }: Settings, worker: number | null = null): Log {
  const format = LOG_FORMAT ?? (process.stdout.isTTY ? "pretty" : "json");
  const sink = new BatchedSink(process.stdout);
  // If the terminal or the reader of a pipe is gone, requests are served without a log.
  process.stdout.on("error", () => undefined);
  process.on("exit", () => sink.flush());
  const log = createLog({ level: LOG_LEVEL, format, color: usesColor(process.stdout) }, sink);
  return worker === null ? log : log.child({ worker });
}

function roleFrom(text: string): Role {
  const role = ROLES.find((each) => each === text);
  if (role === undefined) throw new UsageError(`--role is "${text}"; give one of ${ROLES.join(", ")}`);
  return role;
}
