// Checks whether the records of REQUEST_LOG_SINK can be written.
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Settings } from "../../config/settings.ts";
import { logsEndpoint } from "../../telemetry/otlp/otlp-settings.ts";
import { fail, ok, type CheckResult } from "./check-result.ts";
import { checkEndpoint } from "./collector-checks.ts";
import { nearestDirectory } from "./host-checks.ts";

const NAME = "sink";
const FIX = "make it writable, or set another REQUEST_LOG_SINK";

export async function checkSink(settings: Settings): Promise<CheckResult[]> {
  const sink = settings.REQUEST_LOG_SINK;
  const endpoint = logsEndpoint(settings);
  if (endpoint !== null) return [await checkEndpoint(NAME, endpoint)];
  if (sink?.kind === "file") return [checkFile(sink.path)];
  return [ok(NAME, "requests are recorded in memory only: REQUEST_LOG_SINK is not set")];
}

function checkFile(path: string): CheckResult {
  const label = `the file ${path} of REQUEST_LOG_SINK`;
  if (existsSync(path) && !statSync(path).isFile()) return fail(NAME, `${label} is not a regular file`, FIX);
  // Files are created and renamed in the directory, which the first start creates.
  const directory = nearestDirectory(dirname(resolve(path)));
  if (!statSync(directory).isDirectory())
    return fail(NAME, `${label} cannot be created because ${directory} is a file`, FIX);
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
    if (existsSync(path)) accessSync(path, constants.W_OK | constants.R_OK);
    return ok(NAME, `${label} ${existsSync(path) ? "is writable" : "can be created"}`);
  } catch {
    return fail(NAME, `${label} is not writable`, FIX);
  }
}
