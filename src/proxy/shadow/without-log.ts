// The parts of a data plane for plugins in shadow mode, whose failures are reported and not logged.
import { NO_LOG } from "../../telemetry/log/log.ts";
import type { PluginParts } from "../plugin-call.ts";

/** By the parts of a data plane: they have dozens of fields, and copying them for each call takes time. */
const quietParts = new WeakMap<PluginParts, PluginParts>();

export function withoutLog(parts: PluginParts): PluginParts {
  let quiet = quietParts.get(parts);
  if (quiet === undefined) quietParts.set(parts, (quiet = { ...parts, log: NO_LOG }));
  return quiet;
}
