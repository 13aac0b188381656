// How much a model reasons: `reasoning_effort` in chat; a token budget, or adaptive thinking with an effort, in Anthropic's
// messages.
import type { JsonObject } from "../../base/json.ts";

/** Budgets in tokens up to which an effort is the closest. */
const EFFORT_OF_BUDGET = [
  [2048, "low"],
  [8192, "medium"],
  [31_999, "high"],
] as const;

const CHAT_EFFORTS: ReadonlyMap<unknown, string> = new Map([
  ["low", "low"],
  ["medium", "medium"],
  ["high", "high"],
  ["xhigh", "xhigh"],
  ["max", "xhigh"],
]);

/** Returns the `reasoning_effort` of an Anthropic request; null if the request leaves it to the model. */
export function effortOf(thinking: JsonObject | undefined, output: JsonObject | undefined): string | null {
  const type = thinking?.["type"];
  // `between_tools` is the lowest setting of models whose thinking cannot be disabled.
  if (type === "disabled" || type === "between_tools") return "none";
  const effort = CHAT_EFFORTS.get(output?.["effort"]);
  if (effort !== undefined) return effort;
  const budget = thinking?.["budget_tokens"];
  if (typeof budget === "number")
    return EFFORT_OF_BUDGET.find(([tokens]) => budget <= tokens)?.[1] ?? "xhigh";
  return type === "adaptive" || type === "enabled" ? "medium" : null;
}
