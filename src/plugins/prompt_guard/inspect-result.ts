// Inspects the texts of a message that an MCP server sent.
import { RULES } from "./rules.ts";
import { compileRules } from "./score-text.ts";
import type { PromptGuardSettings, RuleId, Source } from "./settings.ts";

/**
 * A phrase may extend over several texts of a message. Short texts are scored together when they have this many characters, each time with as
 * many that precede them, so that the work does not depend on their number.
 */
const MAX_KEPT = 2048;

export interface ResultText {
  readonly text: string;
  /** The text is JSON: its strings and keys are inspected. */
  readonly isJson: boolean;
  /** The text is a list, whose items are inspected one by one. */
  readonly isList: boolean;
  readonly source: Source;
}

export interface ResultScore {
  readonly score: number;
  readonly rules: readonly RuleId[];
  readonly source: Source;
  /** The end of what precedes the next text of the message. */
  readonly kept: string;
}

/** `before` is the end of what precedes the texts in their message. */
type InspectResult = (texts: Iterable<ResultText>, before: string) => ResultScore;

/** Compiles the settings into a function that inspects texts of one message, in their order. */
export function compileResultInspection({ exclude }: Pick<PromptGuardSettings, "exclude">): InspectResult {
  const excluded = new Set<string>(exclude);
  const scoreOf = compileRules(RULES.filter(({ id }) => !excluded.has(id)));
  return (texts, before) => {
    let highest: Omit<ResultScore, "kept"> = { score: 0, rules: [], source: "tool" };
    let source: Source = "tool";
    let kept = before;
    let waiting: string[] = [];
    let length = 0;
    const score = (inspected: string) => {
      const found = scoreOf(inspected);
      if (found.score > highest.score) highest = { ...found, source };
      kept = inspected.slice(-MAX_KEPT);
    };
    const scoreWaiting = () => {
      if (waiting.length > 0) score(`${kept}\n${waiting.join("\n")}`);
      waiting = [];
      length = 0;
    };
    for (const { text, isJson, isList, source: own } of texts) {
      const value: unknown = isJson ? parse(text) : text;
      const items: readonly unknown[] | null = isList && Array.isArray(value) ? value : null;
      if (items !== null) scoreWaiting();
      source = own;
      for (const item of items ?? []) score(`\n${stringsIn(item).join("\n")}`);
      if (items !== null) continue;
      const readable = stringsIn(value).join("\n");
      waiting.push(readable);
      length += readable.length + 1;
      if (length >= MAX_KEPT) scoreWaiting();
    }
    scoreWaiting();
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
