// Translates `reasoning_effort`, and Anthropic's own `thinking` in chat requests, to what the model accepts. Also decides what
// excludes thinking, and what thinking excludes.
import type { JsonObject } from "../../base/json.ts";
import type { ChatRequest } from "../openai/wire-types.ts";
import { readObject, readString } from "../read-fields.ts";
import { TranslationError } from "../translation-error.ts";
import type { TranslationReport } from "../translation-report.ts";
import type { ClaudeModel } from "./claude-models.ts";
import { budgetOf, closestEffort, effortOfBudget, isEffort, MIN_BUDGET } from "./reasoning-effort.ts";

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
interface Wanted {
  readonly field: "reasoning_effort" | "thinking";
  /** `none`: no thinking. */
  readonly effort: string;
  readonly budget: number | null;
  readonly display: unknown;
}

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
  const effort = readString(body, "reasoning_effort");
  if (effort !== undefined && !isEffort(effort)) {
    throw new TranslationError(
      "reasoning_effort",
      `reasoning_effort is ${JSON.stringify(effort)}; use none, minimal, low, medium, high, xhigh or max.`,
    );
  }
  const thinking = readObject(body, "thinking");
  if (thinking === undefined)
    return effort === undefined ? null : { field: "reasoning_effort", effort, budget: null, display: null };
  const { type, budget_tokens: budget, display = null } = thinking;
  const isOff = type === "disabled" || type === "between_tools";
  const tokens = typeof budget === "number" ? budget : null;
  const given = effort ?? (tokens === null ? "high" : effortOfBudget(tokens));
  return { field: "thinking", effort: isOff ? "none" : given, budget: tokens, display };
}

function turnOff(wanted: Wanted, { off, efforts }: ClaudeModel, report: TranslationReport): EncodedThinking {
  if (off === "omit") return UNSET;
  if (off !== null) return { ...UNSET, thinking: { type: off } };
  report.drop(wanted.field);
  return { ...UNSET, effort: closestEffort(efforts, "low") };
}

function encodeAdaptive(
  { effort, display }: Wanted,
  { efforts, hidesThinking }: ClaudeModel,
): EncodedThinking {
  const thinking: JsonObject = { type: "adaptive" };
  // The client gets the reasoning as text, as it does from other providers.
  if (display !== null || hidesThinking) thinking["display"] = display ?? "summarized";
  return { thinking, effort: closestEffort(efforts, effort), isOn: true };
}

function encodeBudget(
  { field, effort, budget, display }: Wanted,
  { maxTokens = Infinity, isToolForced }: ThinkingContext,
  report: TranslationReport,
): EncodedThinking {
  // The budget is part of the output limit and must be smaller. OpenAI's limit includes reasoning, too.
  if (isToolForced || maxTokens <= MIN_BUDGET) {
    report.drop(field);
    return UNSET;
  }
  const tokens = budget ?? budgetOf(effort);
  const fitting = tokens < maxTokens ? tokens : Math.max(MIN_BUDGET, Math.floor(maxTokens * 0.8));
  if (budget !== null && fitting < budget) report.drop("thinking.budget_tokens");
  const thinking: JsonObject = { type: "enabled", budget_tokens: fitting };
  if (display !== null) thinking["display"] = display;
  return { thinking, effort: null, isOn: true };
}
