// The hook of prompt_guard for messages of MCP servers: rejects or reports those with a text that reaches the threshold.
import {
  LARGE_BODY_BYTES,
  OffLoopError,
  type PluginHost,
  type ResponseTextContext,
} from "../../sdk/index.ts";
import { compileResultInspection, type ResultScore, type ResultText } from "./inspect-result.ts";
import type * as scoreResultTask from "./score-result-task.ts";
import { DEFAULT_MESSAGE, type PromptGuardSettings, type Source } from "./settings.ts";

const RESULT_TASK = new URL("./score-result-task.ts", import.meta.url);
/** Below the time limit of a hook. */
const TASK_TIMEOUT_MS = 4000;
const OVERLOADED = "Too many large bodies are being processed. Retry later.";
const RESULT_MESSAGE = "A message of the MCP server looks like a prompt injection.";
/** The note with the end of the texts of the current message. */
const KEPT = "prompt_guard kept";

export function compileResultGuard(
  settings: PromptGuardSettings,
  host: PluginHost,
): (context: ResponseTextContext) => void | Promise<void> {
  const inspect = compileResultInspection(settings);
  const sources = new Set<Source>(settings.sources);
  return (context) => {
    const { channel, text } = context;
    const source = channel.method === "resources/read" ? "document" : "tool";
    if (text === "" || !sources.has(source)) return;
    const kept = channel.index === 0 ? null : context.notes.get(KEPT);
    const before = typeof kept === "string" ? kept : "";
    const given: ResultText = {
      text,
      isJson: channel.isJson,
      isList: channel.kind === "definitions",
      before,
    };
    if (text.length <= LARGE_BODY_BYTES) {
      apply(context, settings, source, inspect(given));
      return;
    }
    return inspectOffLoop(given, settings, host).then((score) => {
      if (score !== null) apply(context, settings, source, score);
      else context.reject({ status: 503, code: "overloaded", message: OVERLOADED });
    });
  };
}

/** Resolves to null if the task could not be completed. */
async function inspectOffLoop(
  given: ResultText,
  settings: PromptGuardSettings,
  host: PluginHost,
): Promise<ResultScore | null> {
  try {
    const limits = { bytes: given.text.length, timeoutMs: TASK_TIMEOUT_MS };
    return await host.runOffLoop<typeof scoreResultTask>(RESULT_TASK, { settings, given }, limits);
  } catch (error) {
    if (error instanceof OffLoopError) return null;
    throw error;
  }
}

function apply(
  context: ResponseTextContext,
  { action, threshold, status_code: status, error_message: message }: PromptGuardSettings,
  source: Source,
  { score, rules, kept }: ResultScore,
): void {
  context.notes.set(KEPT, kept);
  if (score < threshold) return;
  for (const rule of rules) context.count("found", rule);
  // Never the text: the request log shows this.
  context.setDetail(`${action}: score=${score}, source=${source}, rules=${rules.join(" ")}`);
  if (action === "tag") return;
  const shown = message === DEFAULT_MESSAGE ? RESULT_MESSAGE : message;
  context.reject({ status, code: "prompt_rejected", message: shown });
}
