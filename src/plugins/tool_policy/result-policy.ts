// Decides about the result of a tool in a request, whose meaning for conditions is the same in every format: the value of each block, and that
// of all blocks in sequence.
import type { ToolResult } from "../../sdk/index.ts";
import { SEVERITY, type Action, type Policy } from "./policy.ts";
import { readResult } from "./read-json.ts";

interface ResultDecision {
  readonly action: Action;
  /** The tool that the action is for; empty if it is not known. */
  readonly tool: string;
}

/** With several names or values, of which the model may read any, the strictest action counts. */
export function decideResult(policy: Policy, result: ToolResult): ResultDecision {
  const tools = result.tools.size > 0 ? [...result.tools] : [""];
  let decision: ResultDecision = { action: "allow", tool: tools[0] ?? "" };
  for (const value of valuesOf(result))
    for (const tool of tools) {
      const action = policy.decide("result", tool, value) ?? "deny";
      if (SEVERITY[action] > SEVERITY[decision.action]) decision = { action, tool };
    }
  return decision;
}

/** A JSON text may extend over several blocks, of which none is JSON. */
function valuesOf({ blocks }: ToolResult): unknown[] {
  const texts = blocks.map(({ text }) => text);
  if (blocks.length > 1) texts.push(texts.join(""));
  return texts.length === 0 ? [""] : texts.map(readResult);
}
