// How much a request wants the model to reason: `reasoning_effort`, or Anthropic's `thinking` with a budget
// in tokens. A target takes either budgets or levels: a client's budget stays a budget where it can, and
// becomes the nearest level elsewhere.
import type { JsonObject } from "../base/json.ts";
import type { ChatRequest } from "./openai/wire-types.ts";
import { readNumber, readObject, readString } from "./read-fields.ts";

/** From the lowest to the highest. */
const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/**
 * The tokens that count as a level. Google publishes those of low, medium and high for its
 * OpenAI-compatible endpoint. The numbers of the higher levels continue the row, so that 31,999, the
 * largest budget of older coding agents, is high.
 */
const LEVEL_TOKENS: ReadonlyMap<string, number> = new Map([
  ["minimal", 512],
  ["low", 1024],
  ["medium", 8192],
  ["high", 24_576],
  ["xhigh", 49_152],
  ["max", 98_304],
]);

export interface WantedReasoning {
  /** The field that says so, for reports. */
  readonly field: "reasoning_effort" | "thinking";
  /** Null if the request names none. `none`: no reasoning. */
  readonly effort: string | null;
  /** The client's budget in tokens; null if the request names none. */
  readonly budget: number | null;
  /** Whether the client of Anthropic's format wants to see the reasoning. */
  readonly isShown: boolean;
  /** Whether this client does not want to see it. */
  readonly isHidden: boolean;
}

/** Returns null if the request says nothing about reasoning. */
export function wantedReasoning(request: ChatRequest): WantedReasoning | null {
  const effort = readString(request, "reasoning_effort") ?? null;
  const thinking = readObject(request, "thinking");
  const unseen = { isShown: false, isHidden: false };
  if (thinking === undefined)
    return effort === null ? null : { field: "reasoning_effort", effort, budget: null, ...unseen };
  if (isOff(thinking)) return { field: "thinking", effort: "none", budget: null, ...unseen };
  const isHidden = thinking["display"] === "omitted";
  return {
    field: effort === null ? "thinking" : "reasoning_effort",
    effort,
    budget: effort === "none" ? null : (readNumber(thinking, "budget_tokens", "thinking") ?? null),
    isShown: effort !== "none" && !isHidden,
    isHidden,
  };
}

/** `between_tools` is the lowest setting of Claude models whose thinking cannot be disabled. */
export function isOff({ type }: JsonObject): boolean {
  return type === "disabled" || type === "between_tools";
}

/** Returns the wanted effort for a target that takes levels; null if it accepts none like it. */
export function effortFor({ effort, budget }: WantedReasoning, accepted: readonly string[]): string | null {
  if (effort !== null) return closestEffort(accepted, effort);
  return budget === null ? closestEffort(accepted, "medium") : nearestEffort(accepted, budget);
}

export function isEffort(effort: string): boolean {
  return EFFORTS.includes(effort);
}

export function rankOf(effort: string): number {
  return EFFORTS.indexOf(effort);
}

/**
 * Returns the highest of `accepted` that is not above the requested one, or the lowest if all are; null if
 * there is none.
 */
export function closestEffort(accepted: readonly string[], requested: string): string | null {
  if (accepted.includes(requested)) return requested;
  const rank = rankOf(requested);
  if (rank === -1) return null;
  return accepted.filter((effort) => rankOf(effort) < rank).at(-1) ?? accepted[0] ?? null;
}

/**
 * Returns the level whose tokens differ least from the budget, the lower one of two; null if there is none.
 */
export function nearestEffort(accepted: readonly string[], budget: number): string | null {
  let nearest: string | null = null;
  let least = Infinity;
  for (const effort of accepted) {
    const tokens = LEVEL_TOKENS.get(effort);
    if (tokens === undefined || Math.abs(tokens - budget) >= least) continue;
    nearest = effort;
    least = Math.abs(tokens - budget);
  }
  return nearest;
}
