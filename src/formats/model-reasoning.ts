// Whether a model reasons, and so generates tokens that its responses do not show. Decided by the name with the tables of the formats.
import { BoundedCache } from "../base/bounded-cache.ts";
import type { Operation } from "./operations.ts";
import { claudeModelOf } from "./anthropic/claude-models.ts";
import { bareModelName } from "./models/find-model.ts";
import { geminiModelNamed } from "./models/gemini-models.ts";
import { openaiModelNamed } from "./models/openai-models.ts";

/**
 * `always`: a request cannot turn it off. `by_default`: unless the request turns it off. `if_asked`: only if the request asks for it; also
 * models that are not known. `never`: the model does not reason.
 */
export type ModelReasoning = "always" | "by_default" | "if_asked" | "never";

const KNOWN_MODELS = 1000;
const known = new BoundedCache<string, ModelReasoning>(KNOWN_MODELS);

export function reasoningOfModel(name: string | null): ModelReasoning {
  if (name === null) return "if_asked";
  let reasoning = known.get(name);
  if (reasoning === undefined) known.set(name, (reasoning = lookUp(name)));
  return reasoning;
}

/** Models of other providers, by what their names say. The first match applies. */
const OTHERS: readonly (readonly [RegExp, ModelReasoning])[] = [
  [/non-?reasoning|non-?thinking|instruct/, "never"],
  [/deepseek-(?:r\d|reasoner)|qwq|magistral|-thinking|-reasoning|reasoner|gpt-oss|deep-research/, "always"],
  [/grok-4(?!-fast)|grok-3-mini|minimax-m\d|kimi-k2-thinking/, "always"],
  [/qwen-?3|glm-(?:4\.[5-9]|[5-9])|deepseek-v(?:3\.[1-9]|[4-9])|kimi-k[3-9]/, "by_default"],
];

function lookUp(name: string): ModelReasoning {
  const model = bareModelName(name);
  if (model.includes("claude")) return ofClaude(model);
  if (model.includes("gemini")) return ofGemini(model);
  if (/^o\d/.test(model)) return "always";
  const known = openaiModelNamed(name);
  if (known === null) return OTHERS.find(([pattern]) => pattern.test(model))?.[1] ?? "if_asked";
  const { efforts, reasonsByDefault } = known;
  if (reasonsByDefault) return efforts.includes("none") ? "by_default" : "always";
  return efforts.length > 0 ? "if_asked" : "never";
}

function ofClaude(model: string): ModelReasoning {
  const { thinking, thinksByDefault, off } = claudeModelOf(model);
  if (thinking === "none") return "never";
  if (!thinksByDefault) return "if_asked";
  return off === null ? "always" : "by_default";
}

/** The lowest level still thinks. Flash-Lite thinks only if a request has a budget. */
function ofGemini(model: string): ModelReasoning {
  const { thinking } = geminiModelNamed(model);
  if (thinking === null) return "never";
  if (thinking.kind === "level" || !thinking.off) return "always";
  return model.includes("lite") ? "if_asked" : "by_default";
}

/** The fields of each API that turn reasoning off. Translations read those of the client's format. */
const OFF_FIELDS: Partial<Record<Operation, readonly string[]>> = {
  chat: [
    "reasoning_effort",
    "thinking",
    "thinking_budget",
    "enable_thinking",
    "chat_template_kwargs",
    "think",
  ],
  messages: ["thinking"],
  responses: ["reasoning"],
  generate_content: ["generationConfig", "generation_config"],
};
/** The fields of the chat API that a family of models obeys. The first match applies; a model that is not known may obey each. */
const CHAT_OFF_FIELDS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^gpt-|^o\d/, ["reasoning_effort"]],
  [/claude|gemini/, ["reasoning_effort", "thinking"]],
  [/qwen/, ["thinking_budget", "enable_thinking", "chat_template_kwargs", "think"]],
  [/deepseek|glm|kimi|minimax/, ["thinking", "chat_template_kwargs"]],
];

/** Whether a field turns the reasoning of the model off. `operation` is null if it is not known. */
export function turnsReasoningOff(name: string | null, operation: Operation | null, field: string): boolean {
  if (operation === null) return turnsOffInAny(name, field);
  if (OFF_FIELDS[operation]?.includes(field) !== true) return false;
  if (operation !== "chat" || name === null) return true;
  const model = bareModelName(name);
  return CHAT_OFF_FIELDS.find(([pattern]) => pattern.test(model))?.[1].includes(field) ?? true;
}

/** `thinking` is a field of chat requests as well. */
function turnsOffInAny(name: string | null, field: string): boolean {
  const operations = ["chat", "responses", "generate_content"] as const;
  return operations.some((operation) => turnsReasoningOff(name, operation, field));
}
