// Translates `reasoning_effort`, and Anthropic's own `thinking` in chat requests, to what the model accepts. Also decides what
// excludes thinking, and what thinking excludes.
import type { JsonObject } from "../../base/json.ts";
import type { ChatRequest } from "../openai/wire-types.ts";
import { readObject } from "../read-fields.ts";
import { TranslationError } from "../translation-error.ts";
import type { TranslationReport } from "../translation-report.ts";
import {
  closestEffort,
  effortFor,
  isEffort,
  wantedReasoning,
  type WantedReasoning,
} from "../wanted-reasoning.ts";
import type { ClaudeModel } from "./claude-models.ts";

export interface EncodedThinking {
  readonly thinking: JsonObject | null;
  readonly effort: string | null;
  /** Whether the request turns thinking on. Sampling parameters are restricted then. */
  readonly isOn: boolean;
}

interface ThinkingContext {
  readonly model: ClaudeModel;
  /** The output limit of the request; undefined if it has none. */
  readonly maxTokens: number | undefined;
  /** Whether `tool_choice` requires a tool call. */
  readonly isToolForced: boolean;
  /** Whether the turn in progress has tool calls without the thinking that preceded them. */
  readonly lacksThinking: boolean;
}

/** What the client wants. */
interface Wanted extends WantedReasoning {
  readonly display: unknown;
}

/** Anthropic rejects smaller ones. */
const MIN_BUDGET = 1024;
/** The budget in tokens for each effort. */
const BUDGETS: ReadonlyMap<string, number> = new Map([
  ["minimal", 1024],
  ["low", 2048],
  ["medium", 8192],
  ["high", 24_576],
]);
const LARGEST_BUDGET = 32_000;
/** Without an effort and a budget, as Anthropic's own default for adaptive thinking. */
const DEFAULT_EFFORT = "high";

const UNSET: EncodedThinking = { thinking: null, effort: null, isOn: false };

export function encodeThinking(
  body: ChatRequest,
  context: ThinkingContext,
  report: TranslationReport,
): EncodedThinking {
  const wanted = readWanted(body);
  if (wanted === null) return UNSET;
  const { model } = context;
  if (wanted.effort === "none") return turnOff(wanted, model, report);
  if (model.thinking === "none") {
    report.drop(wanted.field);
    return UNSET;
  }
  // Anthropic rejects a turn that starts with a tool call instead of thinking.
  if (context.lacksThinking) {
    report.drop(wanted.field);
    return turnOff(wanted, model, report);
  }
  return model.thinking === "adaptive"
    ? encodeAdaptive(wanted, model)
    : encodeBudget(wanted, context, report);
}

/** Chat clients send Anthropic's `thinking` through the extra_body of their SDK. */
function readWanted(body: ChatRequest): Wanted | null {
  const wanted = wantedReasoning(body);
  if (wanted === null) return null;
  const { effort, budget } = wanted;
  if (effort !== null && !isEffort(effort)) {
    throw new TranslationError(
      "reasoning_effort",
      `reasoning_effort is ${JSON.stringify(effort)}; use none, minimal, low, medium, high, xhigh or max.`,
    );
  }
  const display = readObject(body, "thinking")?.["display"] ?? null;
  return { ...wanted, effort: effort ?? (budget === null ? DEFAULT_EFFORT : null), display };
}

function turnOff(wanted: Wanted, { off, efforts }: ClaudeModel, report: TranslationReport): EncodedThinking {
  if (off === "omit") return UNSET;
  if (off !== null) return { ...UNSET, thinking: { type: off } };
  report.drop(wanted.field);
  return { ...UNSET, effort: closestEffort(efforts, "low") };
}

function encodeAdaptive(wanted: Wanted, { efforts, hidesThinking }: ClaudeModel): EncodedThinking {
  const { display } = wanted;
  const thinking: JsonObject = { type: "adaptive" };
  // The client gets the reasoning as text, as it does from other providers.
  if (display !== null || hidesThinking) thinking["display"] = display ?? "summarized";
  return { thinking, effort: effortFor(wanted, efforts), isOn: true };
}

function encodeBudget(
  { field, effort, budget, display }: Wanted,
  { maxTokens = Infinity, isToolForced }: ThinkingContext,
  report: TranslationReport,
): EncodedThinking {
  // The budget is part of the output limit and must be smaller. OpenAI's limit includes reasoning, too.
  const least = budget ?? MIN_BUDGET;
  if (isToolForced || least < MIN_BUDGET || maxTokens <= least) {
    report.drop(field);
    return UNSET;
  }
  const tokens = budget ?? BUDGETS.get(effort ?? DEFAULT_EFFORT) ?? LARGEST_BUDGET;
  // A client's budget is sent as it is, or not at all. The budget of an effort is only a guess.
  const fitting = tokens < maxTokens ? tokens : Math.max(MIN_BUDGET, Math.floor(maxTokens * 0.8));
  const thinking: JsonObject = { type: "enabled", budget_tokens: fitting };
  if (display !== null) thinking["display"] = display;
  return { thinking, effort: null, isOn: true };
}
