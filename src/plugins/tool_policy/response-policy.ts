// Decides about the arguments of one call, or the result of one tool, in a response.
import { UNREADABLE, type Action, type Policy } from "./policy.ts";
import { readJson, readResult } from "./read-json.ts";

export interface ToolText {
  readonly source: "called" | "result";
  /** Null for a call or result whose name is not known. */
  readonly tool: string | null;
  readonly text: string;
  readonly isJson: boolean;
  readonly isComplete: boolean;
}

export function decideText(
  policy: Policy,
  { source, tool, text, isJson, isComplete }: ToolText,
): Action | null {
  // A text that is not whole cannot be checked.
  if (!isComplete) return policy.decide(source, tool, UNREADABLE);
  const value = source === "result" ? readResult(text) : argumentsOf(text, isJson);
  return policy.decide(source, tool, value);
}

/** Arguments that are no JSON cannot be checked. */
function argumentsOf(text: string, isJson: boolean): unknown {
  if (!isJson) return text;
  return text === "" ? {} : readJson(text);
}
