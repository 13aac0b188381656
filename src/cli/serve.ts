// gatehouse serve: runs the gateway until a signal ends it.
import { readSettings, type Settings } from "../base/settings.ts";
import { startGatehouse, type Role } from "../main.ts";
import { createLog, type Log } from "../telemetry/log.ts";
import { readFlags, UsageError, type Command } from "./command.ts";
import { awaitSignal, runUntil } from "./run-until-signal.ts";

const ROLES: readonly Role[] = ["admin", "proxy", "all"];

export const serve: Command = {
  summary: "start the gateway (what npm start runs)",
  help: `Usage: gatehouse serve [--role admin|proxy|all]

Starts the Admin API and the data plane, or one of them. Settings come from the environment or a .env file;
docs/settings.md lists them.`,
  run: async (words) => {
    const role = roleFrom(readFlags(words, ["--role"]).get("--role") ?? "all");
    const settings = readSettings(process.env);
    const log = logFor(settings);
    const signal = awaitSignal();
    await runUntil(signal, await startGatehouse(settings, role, log), settings, log);
    return 0;
  },
};

export function logFor({ LOG_FORMAT, LOG_LEVEL }: Settings): Log {
  const format = LOG_FORMAT ?? (process.stdout.isTTY ? "pretty" : "json");
  return createLog({ level: LOG_LEVEL, format }, process.stdout);
}

function roleFrom(text: string): Role {
  const role = ROLES.find((each) => each === text);
  if (role === undefined) throw new UsageError(`--role is "${text}"; give one of ${ROLES.join(", ")}`);
  return role;
}
