// Decides about the arguments of one call, or the result of one tool, in a response.
import { UNREADABLE, type Action, type Policy } from "./policy.ts";
import { readJson, readResult } from "./read-json.ts";

export interface ToolText {
  readonly source: "called" | "result";
  /** Null for a call whose name is not known. */
  readonly tool: string | null;
  readonly text: string;
  readonly isJson: boolean;
  readonly isComplete: boolean;
}

export function decideText(
  policy: Policy,
  { source, tool, text, isJson, isComplete }: ToolText,
): Action | null {
  const value = source === "result" ? readResult(text) : argumentsOf(text, isJson, isComplete);
  return policy.decide(source, tool, value);
}

/** Arguments that are not whole, or no JSON, cannot be checked. */
function argumentsOf(text: string, isJson: boolean, isComplete: boolean): unknown {
  if (!isComplete) return UNREADABLE;
  if (!isJson) return text;
  return text === "" ? {} : readJson(text);
}
