// Translates reasoning_effort, or Anthropic's thinking, to Gemini's thinkingConfig: a token budget for Gemini 2.5, a level for
// Gemini 3. The budgets of low, medium, and high are those of Google's own OpenAI-compatible endpoint.
import type { ChatRequest } from "../openai/wire-types.ts";
import { readNumber, readObject, readString } from "../read-fields.ts";
import { TranslationError } from "../translation-error.ts";
import type { TranslationReport } from "../translation-report.ts";
import { generationOf, isGemini3 } from "./model-generation.ts";
import type { GeminiThinkingConfig } from "./wire-types.ts";

type Level = NonNullable<GeminiThinkingConfig["thinkingLevel"]>;

const BUDGETS: ReadonlyMap<string, number> = new Map([
  ["none", 0],
  ["minimal", 512],
  ["low", 1024],
  ["medium", 8192],
  ["high", 24_576],
  ["xhigh", 32_768],
  ["max", 32_768],
]);
/** Models without the level `minimal` reject it; all have `low`. */
const HAS_MINIMAL = /gemini-3(?:\.[1-5])?-flash/;
/** The first Gemini 3 Pro has the levels `low` and `high` only. */
const LACKS_MEDIUM = /gemini-3-pro/;

export function encodeThinking(
  body: ChatRequest,
  model: string | undefined,
  report: TranslationReport,
): GeminiThinkingConfig | null {
  const budget = readBudget(body);
  if (budget === null) return null;
  // Older models do not think.
  if (generationOf(model) < 2.5) {
    if (budget !== 0) report.drop(budgetField(body));
    return null;
  }
  const config = isGemini3(model) ? { thinkingLevel: levelOf(budget, model ?? "") } : budgetOf(budget, model);
  return budget === 0 ? config : { ...config, includeThoughts: true };
}

/** Returns the budget in tokens: 0 for no thinking, Infinity if the model decides; null if the request says nothing. */
function readBudget(body: ChatRequest): number | null {
  const effort = readString(body, "reasoning_effort");
  if (effort !== undefined) {
    const budget = BUDGETS.get(effort);
    if (budget !== undefined) return budget;
    throw new TranslationError(
      "reasoning_effort",
      `reasoning_effort is ${JSON.stringify(effort)}; use ${[...BUDGETS.keys()].join(", ")}.`,
    );
  }
  const thinking = readObject(body, "thinking");
  if (thinking === undefined) return null;
  if (thinking["type"] === "disabled") return 0;
  return readNumber(thinking, "budget_tokens", "thinking") ?? Infinity;
}

function budgetField(body: ChatRequest): string {
  return (body["reasoning_effort"] ?? null) === null ? "thinking" : "reasoning_effort";
}

function levelOf(budget: number, model: string): Level {
  if (budget <= 512) return HAS_MINIMAL.test(model) ? "minimal" : "low";
  if (budget <= 1024) return "low";
  if (budget <= 8192) return LACKS_MEDIUM.test(model) ? "high" : "medium";
  return "high";
}

/** The thinking of Gemini 2.5 Pro cannot be turned off. */
function budgetOf(budget: number, model: string | undefined): GeminiThinkingConfig {
  if (budget === Infinity) return { thinkingBudget: -1 };
  const isPro = /gemini-2\.5-pro/.test(model ?? "");
  const [least, most] = isPro ? [128, 32_768] : [budget === 0 ? 0 : 512, 24_576];
  return { thinkingBudget: Math.min(Math.max(budget, least), most) };
}
