// How much a model reasons: `reasoning_effort` in chat; a token budget, or adaptive thinking with an effort, in Anthropic's
// messages.
import type { JsonObject } from "../../base/json.ts";

/** The budget in tokens for each effort, and the largest budget that counts as this effort. */
const BUDGETS = [
  { effort: "minimal", tokens: 1024, largest: 0 },
  { effort: "low", tokens: 2048, largest: 2048 },
  { effort: "medium", tokens: 8192, largest: 8192 },
  { effort: "high", tokens: 24_576, largest: 31_999 },
  { effort: "xhigh", tokens: 32_000, largest: Infinity },
] as const;
const LARGEST_BUDGET = 32_000;

/** Anthropic rejects smaller ones. */
export const MIN_BUDGET = 1024;

const CHAT_EFFORTS: ReadonlyMap<unknown, string> = new Map([
  ["low", "low"],
  ["medium", "medium"],
  ["high", "high"],
  ["xhigh", "xhigh"],
  ["max", "xhigh"],
]);

/** From the lowest to the highest. */
const ALL_EFFORTS = ["minimal", "low", "medium", "high", "xhigh", "max"];

/** Returns the `reasoning_effort` of an Anthropic request; null if the request leaves it to the model. */
export function effortOf(thinking: JsonObject | undefined, output: JsonObject | undefined): string | null {
  const type = thinking?.["type"];
  // `between_tools` is the lowest setting of models whose thinking cannot be disabled.
  if (type === "disabled" || type === "between_tools") return "none";
  const effort = CHAT_EFFORTS.get(output?.["effort"]);
  if (effort !== undefined) return effort;
  const budget = thinking?.["budget_tokens"];
  if (typeof budget === "number") return effortOfBudget(budget);
  return type === "adaptive" || type === "enabled" ? "medium" : null;
}

export function effortOfBudget(budget: number): string {
  return BUDGETS.find(({ largest }) => budget <= largest)?.effort ?? "xhigh";
}

export function budgetOf(effort: string): number {
  return BUDGETS.find((each) => each.effort === effort)?.tokens ?? LARGEST_BUDGET;
}

/** Returns the highest of `efforts` that is not above the requested one, or the lowest if all are. */
export function closestEffort(efforts: readonly string[], requested: string): string {
  const rank = ALL_EFFORTS.indexOf(requested);
  return efforts.filter((effort) => ALL_EFFORTS.indexOf(effort) <= rank).at(-1) ?? efforts[0] ?? requested;
}

export function isEffort(effort: string): boolean {
  return effort === "none" || ALL_EFFORTS.includes(effort);
}
