// What tool_policy reports of a denial, and its limits for work in worker threads.
import type { PluginContext } from "../../sdk/index.ts";
import type { Source } from "./policy.ts";

/** Below the time limit of a hook. */
export const TASK_TIMEOUT_MS = 4000;
export const OVERLOADED = "Too many large bodies are being processed. Retry later.";
const MAX_SHOWN_NAME = 128;

/** Counts a denial, and returns its message. `tool` is null if it is not known. */
export function reportDenied(context: PluginContext, source: Source, tool: string | null): string {
  context.count("denied", source);
  if (tool === null) {
    context.setDetail(`denied: ${source} without a name`);
    return `A tool whose name is not known is not allowed here (${source}).`;
  }
  const name = JSON.stringify(tool.slice(0, MAX_SHOWN_NAME));
  context.setDetail(`denied: ${source} ${name}`);
  return `The tool ${name} is not allowed here (${source}).`;
}
