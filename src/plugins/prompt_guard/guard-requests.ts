// The hook of prompt_guard: inspects requests, and blocks or tags those that reach the threshold.
import {
  isLargeBody,
  OffLoopError,
  unreadableResponse,
  type PluginHost,
  type PluginResponse,
  type RequestContext,
} from "../../sdk/index.ts";
import { askJudge } from "./judge.ts";
import type * as inspectBodyTask from "./score-body-task.ts";
import { compileInspection, type Finding, type Inspection, type Question } from "./inspect-body.ts";
import type { JudgeSettings, PromptGuardSettings } from "./settings.ts";

const BODY_TASK = new URL("./score-body-task.ts", import.meta.url);
/** Below the time limit of a hook. */
const TASK_TIMEOUT_MS = 4000;
const OVERLOADED = "Too many large bodies are being processed. Retry later.";
const NOT_JUDGED: PluginResponse = {
  status: 503,
  headers: { "Retry-After": "1" },
  body: { error: "The request could not be judged. Retry later.", code: "judge_failed" },
};

export function compileGuard(
  settings: PromptGuardSettings,
  host: PluginHost,
): (context: RequestContext) => void | Promise<void> {
  const inspect = compileInspection(settings);
  return (context) => {
    const body = context.bodyView;
    if (body === null || body.byteLength === 0) return;
    const contentType = context.headers.get("content-type");
    if (!isLargeBody(body)) {
      apply(context, settings, inspect(body, contentType), host);
      return;
    }
    return inspectOffLoop(body, contentType, settings, host).then((inspection) => {
      if (inspection !== null) apply(context, settings, inspection, host);
      else {
        context.setResponseHeader("Retry-After", "1");
        context.respond({ status: 503, body: { error: OVERLOADED, code: "overloaded" } });
      }
    });
  };
}

/** Resolves to null if the task could not be completed. */
async function inspectOffLoop(
  body: Uint8Array,
  contentType: string | null,
  settings: PromptGuardSettings,
  host: PluginHost,
): Promise<Inspection | null> {
  try {
    const limits = { bytes: body.byteLength, timeoutMs: TASK_TIMEOUT_MS };
    return await host.runOffLoop<typeof inspectBodyTask>(BODY_TASK, { settings, body, contentType }, limits);
  } catch (error) {
    if (error instanceof OffLoopError) return null;
    throw error;
  }
}

function apply(
  context: RequestContext,
  settings: PromptGuardSettings,
  { finding, question, unreadable }: Inspection,
  host: PluginHost,
): void {
  if (unreadable !== null) {
    context.setDetail(`not inspected: ${unreadable}`);
    context.respond(unreadableResponse("prompt_guard", unreadable));
    return;
  }
  if (finding !== null) {
    for (const rule of finding.rules) context.count("found", rule);
    const response = act(context, settings, finding, null);
    if (response !== null) context.respond(response);
    return;
  }
  const { judge } = settings;
  if (question === null || judge === null) return;
  if (host.isExplaining) context.setDetail(`the judge would be asked (service ${judge.service})`);
  else context.holdResponse(judged(context, settings, judge, question));
}

/** Resolves to the response to a request that is rejected, or to null. */
async function judged(
  context: RequestContext,
  settings: PromptGuardSettings,
  judge: JudgeSettings,
  { text, highest }: Question,
): Promise<PluginResponse | null> {
  const verdict = await askJudge(context, judge, text);
  if ("failure" in verdict) {
    context.count("judge_failed", verdict.failure);
    context.setDetail(`no verdict of the judge: ${verdict.failure}`);
    return judge.on_error === "heuristics" ? null : NOT_JUDGED;
  }
  const score = highest.score + verdict.score;
  context.count("judged", score >= settings.threshold ? "flagged" : "passed");
  if (score < settings.threshold) {
    context.setDetail(`passed: score=${score}, judge=${verdict.score}`);
    return null;
  }
  for (const rule of highest.rules) context.count("found", rule);
  return act(context, settings, { ...highest, score }, verdict.score);
}

/** Tags the request, or returns the response to a blocked one. `judge` is the score of the judge; null if it was not asked. */
function act(
  context: RequestContext,
  { action, status_code: status, error_message: error }: PromptGuardSettings,
  { score, rules, source, message }: Finding,
  judge: number | null,
): PluginResponse | null {
  // Never the text: the request log shows this.
  const byJudge = judge === null ? "" : `, judge=${judge}`;
  const summary = `score=${score}${byJudge}, source=${source}, rules=${rules.join(" ")}`;
  context.setDetail(`${action}: ${summary}`);
  if (action === "tag") {
    context.setResponseHeader("X-GW-Prompt-Guard", summary);
    return null;
  }
  const details = { score, ...(judge !== null && { judge }), source, message, rules };
  return { status, body: { error, code: "prompt_rejected", details } };
}
