// Facts about the models behind chat endpoints and the Responses API: OpenAI's by the table of its models,
// those of other providers by the families in their names. Decided by the name, because these endpoints do
// not report it.
import { bareModelName, hasVendorPrefix } from "../models/find-model.ts";
import { openaiModelNamed, type OpenAiModel } from "../models/openai-models.ts";

type Accepted = Pick<
  OpenAiModel,
  | "chatTools"
  | "efforts"
  | "furtherEfforts"
  | "hasCompletionLimit"
  | "hasStop"
  | "reasonsByDefault"
  | "sampling"
>;

interface ChatModel extends Accepted {
  /** Whether requests must contain the model's reasoning between the tool calls of a turn. */
  readonly readsReasoning: boolean;
  /** Whether the name is that of a model of OpenAI. The name of a deployment says nothing. */
  readonly isKnown: boolean;
}

const OTHER: ChatModel = {
  chatTools: "always",
  efforts: [],
  furtherEfforts: [],
  reasonsByDefault: false,
  hasCompletionLimit: false,
  sampling: "always",
  hasStop: true,
  readsReasoning: false,
  isKnown: false,
};
const OTHER_REASONING: ChatModel = { ...OTHER, efforts: ["low", "medium", "high"] };

/** Families of other providers whose models reason, and accept or ignore `reasoning_effort`. */
const REASONING_FAMILIES = /gpt-oss|deepseek|qwen|glm|kimi|minimax|gemini|claude|magistral|grok-3-mini/;
/** Models that expect their `reasoning_content` back. Others reject the field. */
const READING_FAMILIES = /deepseek|kimi|minimax|glm/;

export function chatModelOf(name: unknown): ChatModel {
  if (typeof name !== "string") return OTHER;
  const known = openaiModelNamed(name);
  if (known !== null)
    return {
      ...known,
      // Routers choose the endpoint of OpenAI themselves, whichever their own is.
      chatTools: hasVendorPrefix(name) ? "always" : known.chatTools,
      readsReasoning: false,
      isKnown: true,
    };
  const model = bareModelName(name);
  if (!REASONING_FAMILIES.test(model)) return OTHER;
  return READING_FAMILIES.test(model) ? { ...OTHER_REASONING, readsReasoning: true } : OTHER_REASONING;
}

/** Whether `temperature` and `top_p` are rejected. 1 is their default. */
export function rejectsSampling({ sampling, reasonsByDefault }: ChatModel, effort: string | null): boolean {
  if (sampling === "always") return false;
  return sampling === "never" || (effort === null ? reasonsByDefault : effort !== "none");
}
