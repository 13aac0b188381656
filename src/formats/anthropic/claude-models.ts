// What Claude models accept, by generation. Newer ones reject thinking budgets, sampling parameters, and requests to turn
// thinking off. Source: the migration guides and the page on thinking at platform.claude.com, November 2026.

export interface ClaudeModel {
  /** How thinking is turned on: not at all, with a budget in tokens, or adaptive with an effort. */
  readonly thinking: "none" | "budget" | "adaptive";
  /** Whether the model thinks if the request does not mention thinking. */
  readonly thinksByDefault: boolean;
  /** The `thinking.type` that turns thinking off. `omit`: no field. Null: it cannot be turned off. */
  readonly off: "omit" | "disabled" | "between_tools" | null;
  /** Values of `output_config.effort`, from the lowest to the highest. */
  readonly efforts: readonly string[];
  /** Whether thinking blocks have no text unless the request asks for a summary. */
  readonly hidesThinking: boolean;
  readonly hasSampling: boolean;
  /** Whether `temperature` and `top_p` may be in the same request. */
  readonly combinesSampling: boolean;
  /** Whether `tool_choice` may require a tool call. */
  readonly hasForcedTools: boolean;
}

const EARLY: ClaudeModel = {
  thinking: "none",
  thinksByDefault: false,
  off: "omit",
  efforts: [],
  hidesThinking: false,
  hasSampling: true,
  combinesSampling: true,
  hasForcedTools: true,
};
const BUDGET: ClaudeModel = { ...EARLY, thinking: "budget" };
const CLAUDE_4_1: ClaudeModel = { ...BUDGET, combinesSampling: false };
const CLAUDE_4_6: ClaudeModel = {
  ...CLAUDE_4_1,
  thinking: "adaptive",
  efforts: ["low", "medium", "high", "max"],
};
const CLAUDE_4_7: ClaudeModel = {
  ...CLAUDE_4_6,
  efforts: ["low", "medium", "high", "xhigh", "max"],
  hidesThinking: true,
  hasSampling: false,
};
const CLAUDE_5: ClaudeModel = { ...CLAUDE_4_7, thinksByDefault: true, off: "disabled" };
const ALWAYS_THINKING: ClaudeModel = { ...CLAUDE_5, off: null };

/** Other providers offer models of their own in Anthropic's format, with the fields of its earlier versions. */
const OTHER = BUDGET;

// claude-3-7-sonnet-20250219, claude-opus-4-5, claude-sonnet-4@20250514, anthropic.claude-opus-4-6-v1:0
const NAME =
  /claude-(?:(\d)(?:[-.](\d))?-)?(opus|sonnet|haiku|fable|mythos|instant)(?:-(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?)?/;

export function claudeModelOf(name: string | undefined): ClaudeModel {
  const match = name === undefined ? null : NAME.exec(name.toLowerCase());
  if (match === null) return OTHER;
  const [, oldMajor, oldMinor, family = "", newMajor, newMinor] = match;
  const major = oldMajor ?? newMajor;
  // A name without a version is that of a preview, or of the newest model.
  const version = major === undefined ? Infinity : Number(major) + Number(oldMinor ?? newMinor ?? 0) / 100;
  return modelOf(family, version);
}

/** 4.5 is the version 4.05, so that 4.10 is newer. */
function modelOf(family: string, version: number): ClaudeModel {
  if (version < 3.07) return EARLY;
  if (version < 4.01) return BUDGET;
  if (version < 4.06) return CLAUDE_4_1;
  if (version < 4.07) return CLAUDE_4_6;
  if (version < 5) return CLAUDE_4_7;
  if (family === "fable" || family === "mythos")
    return version >= 5.01 && version !== Infinity
      ? { ...ALWAYS_THINKING, hasForcedTools: false }
      : ALWAYS_THINKING;
  if (version < 5.05 || family === "haiku") return CLAUDE_5;
  return { ...CLAUDE_5, off: family === "sonnet" ? "between_tools" : null, hasForcedTools: false };
}
