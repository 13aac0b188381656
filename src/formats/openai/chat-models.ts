// What the models behind chat endpoints accept. OpenAI's reasoning models reject fields that all others need, and models of
// other providers reject some of OpenAI's fields. Decided by the name, because chat endpoints do not report it.

interface ChatModel {
  /** Whether the output limit is `max_completion_tokens`. Servers of other providers often know `max_tokens` only. */
  readonly hasCompletionLimit: boolean;
  /** Values of `reasoning_effort`, from the lowest to the highest; empty if the model rejects the field. */
  readonly efforts: readonly string[];
  /** When the model rejects `temperature` and `top_p` other than 1. */
  readonly rejectsSampling: "never" | "if reasoning" | "always";
  readonly hasStop: boolean;
  /** Whether requests must contain the model's reasoning between the tool calls of a turn. */
  readonly readsReasoning: boolean;
}

const COMMON = ["low", "medium", "high"] as const;

const OTHER: ChatModel = {
  hasCompletionLimit: false,
  efforts: [],
  rejectsSampling: "never",
  hasStop: true,
  readsReasoning: false,
};
const OTHER_REASONING: ChatModel = { ...OTHER, efforts: COMMON };
const OPENAI_REASONING: ChatModel = {
  hasCompletionLimit: true,
  efforts: COMMON,
  rejectsSampling: "always",
  hasStop: false,
  readsReasoning: false,
};
const GPT_5_CHAT: ChatModel = { ...OTHER, hasCompletionLimit: true };

/** Families of other providers whose models reason, and accept or ignore `reasoning_effort`. */
const REASONING_FAMILIES = /gpt-oss|deepseek|qwen|glm|kimi|minimax|gemini|claude|magistral|grok-3-mini/;
/** Models that expect their `reasoning_content` back. Others reject the field. */
const READING_FAMILIES = /deepseek|kimi|minimax|glm/;

export function chatModelOf(name: unknown): ChatModel {
  if (typeof name !== "string") return OTHER;
  // Routers put the provider before the name: openai/gpt-5.
  const model = name.slice(name.lastIndexOf("/") + 1).toLowerCase();
  if (/^o\d/.test(model))
    return /^o1-(?:mini|preview)/.test(model) ? { ...OPENAI_REASONING, efforts: [] } : OPENAI_REASONING;
  const version = /^gpt-(\d+)(?:\.(\d+))?/.exec(model);
  if (version !== null) return gptOf(model, Number(version[1]), Number(version[2] ?? 0));
  if (!REASONING_FAMILIES.test(model)) return OTHER;
  return READING_FAMILIES.test(model) ? { ...OTHER_REASONING, readsReasoning: true } : OTHER_REASONING;
}

function gptOf(model: string, major: number, minor: number): ChatModel {
  if (major < 5) return OTHER;
  if (model.includes("-chat")) return GPT_5_CHAT;
  if (major === 5 && minor === 0) {
    const efforts = model.startsWith("gpt-5-pro") ? ["high"] : ["minimal", ...COMMON];
    return { ...OPENAI_REASONING, efforts };
  }
  // Since 5.1 models do not reason unless the request says so, and accept sampling parameters then.
  const hasExtraHigh = major > 5 || minor > 1 || model.includes("codex-max");
  const efforts = ["none", ...COMMON, ...(hasExtraHigh ? ["xhigh"] : [])];
  return { ...OPENAI_REASONING, efforts, rejectsSampling: "if reasoning" };
}

const ALL_EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/** Returns the effort closest to the requested one that the model accepts; null if it accepts none like it. */
export function closestEffort({ efforts }: ChatModel, requested: string): string | null {
  if (efforts.length === 0) return null;
  if (efforts.includes(requested)) return requested;
  const rank = ALL_EFFORTS.indexOf(requested);
  if (rank === -1) return null;
  const lower = efforts.filter((effort) => ALL_EFFORTS.indexOf(effort) < rank).at(-1);
  return lower ?? efforts[0] ?? null;
}
