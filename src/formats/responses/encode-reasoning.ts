// Translates what a chat request says of reasoning and sampling. OpenAI's models accept different values, as in chat completions.
import type { JsonObject } from "../../base/json.ts";
import { effortOf } from "../anthropic/reasoning-effort.ts";
import { chatModelOf, closestEffort } from "../openai/chat-models.ts";
import type { ChatRequest } from "../openai/wire-types.ts";
import { readNumber, readObject, readString } from "../read-fields.ts";
import type { TranslationReport } from "../translation-report.ts";

export function addReasoning(body: ChatRequest, request: JsonObject, report: TranslationReport): void {
  const thinking = readObject(body, "thinking");
  const isThinking = thinking !== undefined && thinking["type"] !== "disabled";
  const effort = acceptedEffort(body, thinking, report);
  addSampling(body, request, effort, report);
  const reasoning: JsonObject = {};
  if (effort !== null) reasoning["effort"] = effort;
  // OpenAI's first reasoning models always reason.
  const isOn = effort === null ? chatModelOf(body.model).rejectsSampling === "always" : effort !== "none";
  // Clients of Anthropic's format expect to see the reasoning. Others do not, and not every account may request summaries.
  if (isOn && isThinking) reasoning["summary"] = "auto";
  if (Object.keys(reasoning).length > 0) request["reasoning"] = reasoning;
  // Models that do not reason reject this.
  if (isOn) request["include"] = ["reasoning.encrypted_content"];
}

/** Returns the closest effort that the model accepts; null if none is requested, or the model does not reason. */
function acceptedEffort(
  body: ChatRequest,
  thinking: JsonObject | undefined,
  report: TranslationReport,
): string | null {
  const requested = readString(body, "reasoning_effort") ?? effortOf(thinking, undefined);
  if (requested === null) return null;
  const model = chatModelOf(body.model);
  // The name of a deployment says nothing about its model.
  const accepted =
    model.efforts.length === 0 && mayReason(body.model) ? requested : closestEffort(model, requested);
  if (accepted === null && requested !== "none") report.drop("reasoning_effort");
  return accepted;
}

/** Whether the model reasons, or its name does not say. */
function mayReason(model: unknown): boolean {
  return (
    typeof model !== "string" || !/^gpt-[34]|^gpt-5.*-chat/.test(model.slice(model.lastIndexOf("/") + 1))
  );
}

/** 1 is the default of both fields, and accepted by all models. */
function addSampling(
  body: ChatRequest,
  request: JsonObject,
  effort: string | null,
  report: TranslationReport,
): void {
  const { rejectsSampling } = chatModelOf(body.model);
  const isReasoning = effort !== null && effort !== "none";
  const isRejected = rejectsSampling === "always" || (rejectsSampling === "if reasoning" && isReasoning);
  for (const field of ["temperature", "top_p"]) {
    const value = readNumber(body, field);
    if (value === undefined) continue;
    if (!isRejected || value === 1) request[field] = value;
    else report.drop(field);
  }
}
