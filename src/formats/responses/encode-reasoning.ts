// Translates what a chat request says of reasoning and sampling. OpenAI's models accept different values, as in chat completions.
import { isJsonObject, parseObject, type JsonObject } from "../../base/json.ts";
import { spliceTopLevel } from "../../base/json-splice.ts";
import { chatModelOf, rejectsSampling } from "../openai/chat-models.ts";
import type { ChatRequest } from "../openai/wire-types.ts";
import { readNumber } from "../read-fields.ts";
import type { TranslationReport } from "../translation-report.ts";
import { effortFor, nearestEffort, wantedReasoning, type WantedReasoning } from "../wanted-reasoning.ts";

type Model = ReturnType<typeof chatModelOf>;

const REASONING = Buffer.from('"reasoning":{');
/** All models that reason have these. */
const COMMON_EFFORTS = ["low", "medium", "high"];

export function addReasoning(body: ChatRequest, request: JsonObject, report: TranslationReport): void {
  const wanted = wantedReasoning(body);
  const model = chatModelOf(body.model);
  const effort = wanted === null ? null : acceptedEffort(wanted, model);
  if (wanted !== null && effort === null && wanted.effort !== "none") report.drop("reasoning_effort");
  addSampling(body, request, rejectsSampling(model, effort), report);
  const reasoning: JsonObject = {};
  if (effort !== null) reasoning["effort"] = effort;
  const isOn = effort === null ? model.reasonsByDefault : effort !== "none";
  // Clients of Anthropic's format see the reasoning. Others do not expect it, and not every account may
  // request summaries.
  if (isOn && wanted?.isShown === true) reasoning["summary"] = "auto";
  if (Object.keys(reasoning).length > 0) request["reasoning"] = reasoning;
  // Models that do not reason reject this.
  if (isOn) request["include"] = ["reasoning.encrypted_content"];
}

export function hasSummary(request: object): boolean {
  return (
    "reasoning" in request && isJsonObject(request.reasoning) && request.reasoning["summary"] !== undefined
  );
}

/** No object of the client follows the reasoning, so its last occurrence is the field: the rest is not read. */
export function withoutSummary(body: Uint8Array): Uint8Array {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const start = Math.max(1, bytes.lastIndexOf(REASONING));
  const spliced = spliceTopLevel(`{${bytes.toString("utf8", start)}`, "reasoning", (given) => {
    const { effort } = parseObject(given ?? "{}") ?? {};
    return JSON.stringify({ effort });
  });
  return Buffer.concat([bytes.subarray(0, start), Buffer.from(spliced.slice(1))]);
}

/** Returns the closest effort that the model accepts; null if it does not reason. */
function acceptedEffort(wanted: WantedReasoning, model: Model): string | null {
  const { efforts, furtherEfforts, isKnown } = model;
  if (efforts.length > 0 || isKnown) return effortFor(wanted, [...efforts, ...furtherEfforts]);
  // The name of a deployment says nothing about its model.
  const { effort, budget } = wanted;
  return effort ?? (budget === null ? "medium" : nearestEffort(COMMON_EFFORTS, budget));
}

function addSampling(
  body: ChatRequest,
  request: JsonObject,
  isRejected: boolean,
  report: TranslationReport,
): void {
  for (const field of ["temperature", "top_p"]) {
    const value = readNumber(body, field);
    if (value === undefined) continue;
    if (!isRejected) request[field] = value;
    // 1 is the default.
    else if (value !== 1) report.drop(field);
  }
}
