// gatehouse doctor: checks everything that a gateway needs on this machine and prints a fix for each problem. Changes nothing.
import { readSettings, SettingsError, type Settings } from "../../config/settings.ts";
import { redact } from "../../telemetry/log/redact.ts";
import { parseArguments } from "../arguments.ts";
import type { Command } from "../command.ts";
import { Progress } from "../progress.ts";
import { pad, paint } from "../terminal.ts";
import { fail, ok, type CheckResult } from "./check-result.ts";
import { checkMetrics, checkTraces } from "./collector-checks.ts";
import { checkDataDirectory, checkPlugins, checkPorts, checkProcess, checkSecret } from "./host-checks.ts";
import { checkProviders } from "./provider-checks.ts";
import { checkSecrets } from "./secret-checks.ts";
import { checkCounters, checkStore } from "./store-checks.ts";
import { checkSink } from "./sink-checks.ts";

type Check = (settings: Settings) => CheckResult[] | Promise<CheckResult[]>;

/** Run one after another. Each check limits its own duration. */
const CHECKS: readonly (readonly [string, Check])[] = [
  ["secret", checkSecret],
  ["process", checkProcess],
  ["data", checkDataDirectory],
  ["plugins", checkPlugins],
  ["ports", checkPorts],
  ["store", checkStore],
  ["secrets", checkSecrets],
  ["counters", checkCounters],
  ["sink", checkSink],
  ["traces", checkTraces],
  ["metrics", checkMetrics],
  ["providers", checkProviders],
];

export const doctor: Command = {
  summary: "check settings, store, secrets, Redis, providers, collector, clock, and ports",
  help: `Usage: gatehouse doctor [--json]

Checks whether a gateway with these settings can run on this machine, and prints a fix for each problem. Connects to
providers and the OTLP collectors (TCP and TLS) without sending a request. Changes nothing. Exits with 1 if a check fails.

  --json  print {"checks": [{"name", "state", "detail", "mend"}]}; "mend" is the fix`,
  run: async (args) => {
    const { values } = parseArguments(args, { options: { json: { type: "boolean" } } });
    const isJson = values.json === true;
    const results: CheckResult[] = [];
    for await (const result of runChecks()) {
      results.push(result);
      if (!isJson) console.log(resultLine(result));
    }
    if (isJson) {
      const checks = results.map(({ fix, ...rest }) => ({ ...rest, mend: fix }));
      console.log(JSON.stringify({ checks }));
    }
    return results.some(({ state }) => state === "fail") ? 1 : 0;
  },
};

async function* runChecks(): AsyncGenerator<CheckResult> {
  let settings: Settings;
  try {
    settings = readSettings(process.env);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    // The other checks need valid settings.
    yield fail(
      "settings",
      error.message,
      "fix it in the environment or in .env; docs/settings.md lists all settings",
    );
    return;
  }
  yield ok("settings", "all settings are valid");
  const progress = new Progress();
  for (const [index, [name, run]] of CHECKS.entries()) {
    progress.show(`checking ${name}`, index / CHECKS.length);
    const results = await resultsOf(name, run, settings);
    progress.end();
    yield* results;
  }
}

/** A check that fails to run must not hide the results of the others. */
async function resultsOf(name: string, run: Check, settings: Settings): Promise<CheckResult[]> {
  try {
    return await run(settings);
  } catch (error) {
    const reason = redact(error instanceof Error ? error.message : String(error));
    return [fail(name, `the check failed: ${reason}`, "see the other checks")];
  }
}

const STYLES = { ok: "green", warn: "yellow", fail: "red" } as const;

function resultLine({ name, state, detail, fix }: CheckResult): string {
  const text = fix === null ? detail : `${detail}; fix: ${fix}`;
  return `${paint(STYLES[state], pad(state, 4))}  ${pad(name, 10)} ${text}`;
}
