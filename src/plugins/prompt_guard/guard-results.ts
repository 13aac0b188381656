// The hook of prompt_guard for messages of MCP servers: rejects or reports those with a text that reaches the threshold. All texts of a message
// are inspected with the first one, in one task if they are long or many.
import {
  LARGE_BODY_BYTES,
  OffLoopError,
  type PluginHost,
  type ResponseText,
  type ResponseTextContext,
} from "../../sdk/index.ts";
import { compileResultInspection, type ResultScore, type ResultText } from "./inspect-result.ts";
import { packTexts } from "./packed-texts.ts";
import type * as scoreResultTask from "./score-result-task.ts";
import { DEFAULT_MESSAGE, type PromptGuardSettings, type Source } from "./settings.ts";

const RESULT_TASK = new URL("./score-result-task.ts", import.meta.url);
/** Below the time limit of a hook. */
const TASK_TIMEOUT_MS = 4000;
/** JSON may have a value in every other character: then it takes up to four times as long as prose. */
const JSON_WEIGHT = 4;
/** Of one message. Collecting and scoring as many short texts takes a few milliseconds. */
const MAX_TEXTS = 4096;
const OVERLOADED = "Too many large bodies are being processed. Retry later.";
const RESULT_MESSAGE = "A message of the MCP server looks like a prompt injection.";
/** The note with the end of the texts of the current message, for calls with one text each. */
const KEPT = "prompt_guard kept";

export function compileResultGuard(
  settings: PromptGuardSettings,
  host: PluginHost,
): (context: ResponseTextContext) => void | Promise<void> {
  const inspect = compileResultInspection(settings);
  const sources = new Set<Source>(settings.sources);
  const inspected = new WeakSet<readonly ResponseText[]>();
  return (context) => {
    const { channel, texts: all } = context;
    if (all !== null && inspected.has(all)) return;
    const texts = (all ?? [context]).flatMap((text) => resultText(text, sources));
    const before = all === null && channel.index > 0 ? context.notes.get(KEPT) : "";
    const kept = typeof before === "string" ? before : "";
    if (all !== null) inspected.add(all);
    if (texts.length === 0) return;
    if (!isLarge(texts)) {
      apply(context, settings, inspect(texts, kept));
      return;
    }
    return inspectOffLoop(texts, kept, settings, host).then((score) => {
      if (score !== null) apply(context, settings, score);
      else context.reject({ status: 503, code: "overloaded", message: OVERLOADED });
    });
  };
}

/** Returns a list of the text, or an empty one if it is not inspected. */
function resultText({ channel, text }: ResponseText, sources: ReadonlySet<Source>): ResultText[] {
  const source = channel.method === "resources/read" ? "document" : "tool";
  if (text === "" || !sources.has(source)) return [];
  return [{ text, isJson: channel.isJson, isList: channel.kind === "definitions", source }];
}

/** Whether the inspection takes so long that it is done in a worker thread. */
function isLarge(texts: readonly ResultText[]): boolean {
  let length = 0;
  for (const { text, isJson } of texts) length += text.length * (isJson ? JSON_WEIGHT : 1);
  return length > LARGE_BODY_BYTES || texts.length > MAX_TEXTS;
}

/** Resolves to null if the task could not be completed. */
async function inspectOffLoop(
  texts: readonly ResultText[],
  before: string,
  settings: PromptGuardSettings,
  host: PluginHost,
): Promise<ResultScore | null> {
  try {
    const input = { settings, texts: packTexts(texts), before };
    const limits = { bytes: input.texts.text.length, timeoutMs: TASK_TIMEOUT_MS };
    return await host.runOffLoop<typeof scoreResultTask>(RESULT_TASK, input, limits);
  } catch (error) {
    if (error instanceof OffLoopError) return null;
    throw error;
  }
}

function apply(
  context: ResponseTextContext,
  { action, threshold, status_code: status, error_message: message }: PromptGuardSettings,
  { score, rules, source, kept }: ResultScore,
): void {
  if (context.texts === null) context.notes.set(KEPT, kept);
  if (score < threshold) return;
  for (const rule of rules) context.count("found", rule);
  // Never the text: the request log shows this.
  context.setDetail(`${action}: score=${score}, source=${source}, rules=${rules.join(" ")}`);
  if (action === "tag") return;
  const shown = message === DEFAULT_MESSAGE ? RESULT_MESSAGE : message;
  context.reject({ status, code: "prompt_rejected", message: shown });
}
