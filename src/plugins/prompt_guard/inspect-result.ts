// Inspects a text that an MCP server sent.
import { RULES } from "./rules.ts";
import { compileRules } from "./score-text.ts";
import type { PromptGuardSettings, RuleId } from "./settings.ts";

/** A phrase may extend over several texts of a message. */
const MAX_KEPT = 2048;

export interface ResultText {
  readonly text: string;
  /** The text is JSON: its strings and keys are inspected. */
  readonly isJson: boolean;
  /** The text is a list, whose items are inspected one by one. */
  readonly isList: boolean;
  /** The end of what precedes the text in its message. */
  readonly before: string;
}

export interface ResultScore {
  readonly score: number;
  readonly rules: readonly RuleId[];
  /** The end of what precedes the next text of the message. */
  readonly kept: string;
}

/** Compiles the settings into a function that inspects one text. */
export function compileResultInspection({
  exclude,
}: Pick<PromptGuardSettings, "exclude">): (given: ResultText) => ResultScore {
  const excluded = new Set<string>(exclude);
  const scoreOf = compileRules(RULES.filter(({ id }) => !excluded.has(id)));
  return ({ text, isJson, isList, before }) => {
    const value: unknown = isJson ? parse(text) : text;
    const items: readonly unknown[] = isList && Array.isArray(value) ? value : [value];
    let highest: ReturnType<typeof scoreOf> = { score: 0, rules: [] };
    let kept = before;
    for (const item of items) {
      const inspected = `${isList ? "" : before}\n${stringsIn(item).join("\n")}`;
      const found = scoreOf(inspected);
      if (found.score > highest.score) highest = found;
      kept = inspected.slice(-MAX_KEPT);
    }
    return { ...highest, kept };
  };
}

/** Returns a text that is not JSON as it is. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Returns the strings in a value, and the keys of its objects, in order. The gateway bounds the depth of messages. */
function stringsIn(value: unknown, found: string[] = []): string[] {
  if (typeof value === "string") found.push(value);
  else if (Array.isArray(value)) for (const each of value) stringsIn(each, found);
  else if (typeof value === "object" && value !== null)
    for (const [key, child] of Object.entries(value)) {
      found.push(key);
      stringsIn(child, found);
    }
  return found;
}
