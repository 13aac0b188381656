// gatehouse serve: runs the gateway until a signal ends it.
import { readSettings, type Settings } from "../config/settings.ts";
import type { Role } from "../main.ts";
import { BatchedSink } from "../telemetry/log/batched-sink.ts";
import { createLog, type Log } from "../telemetry/log/log.ts";
import { UsageError, type Command } from "./command.ts";
import { refuseTakenPorts } from "./free-ports.ts";
import { awaitSignal, runUntil } from "./run-until-signal.ts";
import { beginStartUp, collectAfterLoading, endStartUp } from "./start-up.ts";
import { supervise, workerNumber } from "./supervise.ts";
import { usesColour } from "./terminal.ts";
import { Words } from "./words.ts";
import { WorkerLink } from "./worker-link.ts";

const ROLES: readonly Role[] = ["admin", "proxy", "all"];

export const serve: Command = {
  summary: "start the gateway (what npm start runs)",
  help: `Usage: gatehouse serve [--role admin|proxy|all]

Starts the Admin API and the data plane, or one of them, in as many processes as WORKERS says. Settings come from the environment or a .env file;
docs/settings.md lists them.`,
  run: async (words) => {
    const role = roleFrom(new Words(words, { values: ["--role"] }).value("--role") ?? "all");
    const settings = readSettings(process.env);
    const worker = workerNumber();
    const log = logFor(settings, worker);
    if (settings.WORKERS > 1 && worker === null) {
      refuseTakenPorts(settings, role);
      if (settings.REDIS_URL === null)
        log.warn(
          `WORKERS is ${settings.WORKERS} without REDIS_URL: each process counts its rate limits for itself`,
        );
      return supervise(settings, words, log);
    }
    const signal = awaitSignal();
    beginStartUp();
    // Loaded here: a process that only supervises does not carry the gateway.
    const { startGatehouse } = await import("../main.ts");
    collectAfterLoading();
    const link = worker === null ? null : new WorkerLink(settings.WORKERS);
    const gatehouse = await startGatehouse(settings, role, log, link);
    endStartUp();
    link?.reportListening(gatehouse.listening);
    await runUntil(signal, gatehouse, settings, log);
    return 0;
  },
};

export function logFor({ LOG_FORMAT, LOG_LEVEL }: Settings, worker: number | null = null): Log {
  const format = LOG_FORMAT ?? (process.stdout.isTTY ? "pretty" : "json");
  const sink = new BatchedSink(process.stdout);
  process.on("exit", () => sink.flush());
  const log = createLog({ level: LOG_LEVEL, format, color: usesColour(process.stdout) }, sink);
  return worker === null ? log : log.child({ worker });
}

function roleFrom(text: string): Role {
  const role = ROLES.find((each) => each === text);
  if (role === undefined) throw new UsageError(`--role is "${text}"; give one of ${ROLES.join(", ")}`);
  return role;
}
