// Translates reasoning_effort, or Anthropic's thinking, to Gemini's thinkingConfig: a token budget for
// models that take budgets, a level for those that take levels, never both.
import { GEMINI_EFFORT_TOKENS, geminiModelNamed, type GeminiModel } from "../models/gemini-models.ts";
import type { ChatRequest } from "../openai/wire-types.ts";
import { TranslationError } from "../translation-error.ts";
import type { TranslationReport } from "../translation-report.ts";
import { nearestEffort, rankOf, wantedReasoning, type WantedReasoning } from "../wanted-reasoning.ts";
import type { GeminiThinkingConfig } from "./wire-types.ts";

type Thinking<Kind extends string> = Extract<GeminiModel["thinking"], { kind: Kind }>;

/** Reasoning is part of the output limit, and must leave room for the response. */
const SHARE_OF_LIMIT = 0.8;

export function encodeThinking(
  body: ChatRequest,
  model: string | undefined,
  maxTokens: number | undefined,
  report: TranslationReport,
): GeminiThinkingConfig | null {
  const wanted = wantedReasoning(body);
  if (wanted === null) return null;
  requireEffort(wanted);
  const { thinking } = geminiModelNamed(model);
  const isOff = wanted.effort === "none";
  if (thinking === null) {
    if (!isOff) report.drop(wanted.field);
    return null;
  }
  const config =
    thinking.kind === "level"
      ? levelFor(wanted, thinking)
      : budgetFor(wanted, thinking, maxTokens ?? Infinity, report);
  if (isOff) return config;
  return wanted.isHidden ? config : { ...config, includeThoughts: true };
}

function requireEffort({ effort }: WantedReasoning): void {
  if (effort === null || GEMINI_EFFORT_TOKENS.has(effort)) return;
  throw new TranslationError(
    "reasoning_effort",
    `reasoning_effort is ${JSON.stringify(effort)}; use ${[...GEMINI_EFFORT_TOKENS.keys()].join(", ")}.`,
  );
}

/** Without an effort and a budget the model decides. */
function levelFor(
  { effort, budget }: WantedReasoning,
  { levels }: Thinking<"level">,
): GeminiThinkingConfig | null {
  if (effort !== null) {
    // Where a model lacks a level, it gets the next higher one: a response with too little thinking is
    // worse than a slow one.
    const level = levels.find((each) => rankOf(each) >= rankOf(effort)) ?? levels.at(-1);
    return level === undefined ? null : { thinkingLevel: level };
  }
  const nearest = budget === null ? null : nearestEffort(levels, budget);
  const level = levels.find((each) => each === nearest);
  return level === undefined ? null : { thinkingLevel: level };
}

function budgetFor(
  { effort, budget }: WantedReasoning,
  { least, most, off }: Thinking<"budget">,
  maxTokens: number,
  report: TranslationReport,
): GeminiThinkingConfig | null {
  if (budget !== null) {
    if (budget >= least && budget <= most && budget < maxTokens) return { thinkingBudget: budget };
    report.drop("thinking.budget_tokens");
    return null;
  }
  // The model decides.
  if (effort === null) return { thinkingBudget: -1 };
  if (effort === "none" && off) return { thinkingBudget: 0 };
  const wanted = Math.min(Math.max(GEMINI_EFFORT_TOKENS.get(effort) ?? 0, least), most);
  const fitting = wanted < maxTokens ? wanted : Math.floor(maxTokens * SHARE_OF_LIMIT);
  if (fitting >= least) return { thinkingBudget: fitting };
  report.drop("reasoning_effort");
  return null;
}
