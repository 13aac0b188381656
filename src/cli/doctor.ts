// gatehouse doctor: looks at all that a gateway needs here, and names the mend of whatever is wrong. Changes nothing.
import { readSettings, SettingsError, type Settings } from "../config/settings.ts";
import type { Command } from "./command.ts";
import { fail, ok, type Check } from "./doctor-check.ts";
import { checkDataDirectory, checkPlugins, checkPorts, checkProcess, checkSecret } from "./doctor-machine.ts";
import { checkProviders } from "./doctor-providers.ts";
import { checkCounters, checkStore } from "./doctor-stores.ts";
import { pad, paint, Progress } from "./terminal.ts";
import { Words } from "./words.ts";

/** In this order; each is one wait at most as long as its own deadlines. */
const CHECKS: readonly (readonly [string, (settings: Settings) => Check[] | Promise<Check[]>])[] = [
  ["secret", checkSecret],
  ["process", checkProcess],
  ["data", checkDataDirectory],
  ["plugins", checkPlugins],
  ["ports", checkPorts],
  ["store", checkStore],
  ["counters", checkCounters],
  ["providers", checkProviders],
];

export const doctor: Command = {
  summary: "check settings, store, Redis, providers, clock and ports",
  help: `Usage: gatehouse doctor [--json]

Checks what a gateway started here, with these settings, would meet. Providers are connected to (TCP and TLS) and not
called. Nothing is changed. Exits with 1 when a check fails.

  --json  print {"checks": [{"name", "state", "detail", "mend"}]}`,
  run: async (given) => {
    const words = new Words(given, { switches: ["--json"] });
    const isJson = words.has("--json");
    const checks: Check[] = [];
    for await (const check of runChecks()) {
      checks.push(check);
      if (!isJson) console.log(line(check));
    }
    if (isJson) console.log(JSON.stringify({ checks }));
    return checks.some(({ state }) => state === "fail") ? 1 : 0;
  },
};

async function* runChecks(): AsyncGenerator<Check> {
  let settings: Settings;
  try {
    settings = readSettings(process.env);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    // Nothing else can be looked at with settings that are none.
    yield fail(
      "settings",
      error.message,
      "mend it in the environment or in .env; docs/settings.md lists all",
    );
    return;
  }
  yield ok("settings", "all can be read");
  const progress = new Progress();
  for (const [index, [name, run]] of CHECKS.entries()) {
    progress.show(`looking at the ${name}`, index / CHECKS.length);
    const checks = await run(settings);
    progress.end();
    yield* checks;
  }
}

const STYLES = { ok: "green", warn: "yellow", fail: "red" } as const;

function line({ name, state, detail, mend }: Check): string {
  const rest = mend === null ? detail : `${detail}: ${mend}`;
  return `${paint(STYLES[state], pad(state, 4))}  ${pad(name, 10)} ${rest}`;
}
