// What an operator needs right after the start: addresses, the console, how to get a token, and where the data is. Printed on a
// terminal only; log lines report the same to a file.
import { resolve } from "node:path";
import type { Settings } from "../config/settings.ts";
import type { Listening } from "../main.ts";
import { isLaunched } from "./executable-inputs.ts";
import { fields, paint } from "./terminal.ts";

type SummarySettings = Pick<Settings, "HOST" | "DATA_DIR" | "DATABASE_URL" | "LOG_FORMAT" | "WORKERS">;

/** The log lines of the start are written in batches; the summary follows them. */
const DELAY_MS = 100;

/** Prints the summary if the output is a terminal that does not show JSON lines. */
export function printStartupSummary(listening: Listening, settings: SummarySettings): void {
  if (!process.stdout.isTTY || settings.LOG_FORMAT === "json") return;
  setTimeout(() => process.stdout.write(`${startupSummary(listening, settings)}\n`), DELAY_MS).unref();
}

export function startupSummary(
  { adminPort, proxyPort, operationsPort }: Listening,
  settings: SummarySettings,
): string {
  const pairs: [string, string][] = [];
  if (proxyPort !== null) pairs.push(["requests", addressOf(settings.HOST, proxyPort)]);
  if (adminPort !== null) {
    const admin = addressOf(settings.HOST, adminPort);
    pairs.push(
      ["Admin API", `${admin}/api/v1   documentation: ${admin}/api/docs`],
      ["console", `${admin}/console`],
      ["admin token", tokenCommand()],
    );
  }
  if (operationsPort !== null) pairs.push(["metrics", `${addressOf(settings.HOST, operationsPort)}/metrics`]);
  pairs.push(["data", storeOf(settings)]);
  const workers = settings.WORKERS === 1 ? "" : ` with ${settings.WORKERS} workers`;
  const title = paint("bold", `Gatehouse is running${workers}. Press Ctrl+C to stop.`);
  return `\n${title}\n${fields(pairs)}\n`;
}

/** All addresses of the machine include the loopback address, which a browser on it can open. */
function addressOf(host: string, port: number): string {
  if (host === "0.0.0.0") return `http://127.0.0.1:${port}`;
  if (host === "::") return `http://[::1]:${port}`;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function tokenCommand(): string {
  return `run "${Bun.isStandaloneExecutable && !isLaunched() ? process.execPath : "bin/gatehouse"} token"`;
}

/** Without the user name and the password of a database URL. */
function storeOf({ DATABASE_URL, DATA_DIR }: SummarySettings): string {
  if (DATABASE_URL === null || DATABASE_URL.startsWith("sqlite:")) return resolve(DATA_DIR);
  const { protocol, host, pathname } = new URL(DATABASE_URL);
  return `${protocol}//${host}${pathname}`;
}
