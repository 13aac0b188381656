// Facts about OpenAI's models: the fields that they accept, and the endpoints that serve them. Dated
// snapshots, fine-tuned models, and deployments whose names begin with the name of a model are found as
// well. Azure OpenAI and routers have the same models.
import { findModel, type ModelRow } from "./find-model.ts";
import type { ModelSource } from "./model-sources.ts";

export interface OpenAiModel extends ModelRow {
  readonly sources: readonly ModelSource[];
  /** Whether chat completions serves the model. */
  readonly hasChat: boolean;
  /** Whether the Responses API serves the model, and is used for requests that are translated for it. */
  readonly usesResponses: boolean;
  /** When chat completions accepts function tools. The Responses API always does. */
  readonly chatTools: "always" | "without reasoning" | "never";
  /** Values of `reasoning_effort`, from the lowest to the highest; empty if the model does not reason. */
  readonly efforts: readonly string[];
  /** Higher values that only the Responses API accepts. */
  readonly furtherEfforts: readonly string[];
  /** Whether the model reasons if a request does not say whether to. */
  readonly reasonsByDefault: boolean;
  /** Whether chat completions takes `max_completion_tokens` instead of `max_tokens`. */
  readonly hasCompletionLimit: boolean;
  /** Whether `temperature` and `top_p` are accepted. */
  readonly sampling: "always" | "without reasoning" | "never";
  /** Whether chat completions accepts `stop`. */
  readonly hasStop: boolean;
}

const COMMON = ["low", "medium", "high"] as const;
const UP_TO_EXTRA_HIGH = ["none", ...COMMON, "xhigh"] as const;
const PRO = ["medium", "high", "xhigh"] as const;

const PLAIN: Omit<OpenAiModel, "names" | "sources"> = {
  hasChat: true,
  usesResponses: false,
  chatTools: "always",
  efforts: [],
  furtherEfforts: [],
  reasonsByDefault: false,
  hasCompletionLimit: false,
  sampling: "always",
  hasStop: true,
};
/** Models that always reason. */
const REASONING: typeof PLAIN = {
  ...PLAIN,
  usesResponses: true,
  efforts: COMMON,
  reasonsByDefault: true,
  hasCompletionLimit: true,
  sampling: "never",
  hasStop: false,
};
const RESPONSES_ONLY: typeof PLAIN = { ...REASONING, hasChat: false, chatTools: "never" };
/** Models whose reasoning can be turned off. */
const SWITCHABLE: typeof PLAIN = {
  ...REASONING,
  efforts: UP_TO_EXTRA_HIGH,
  reasonsByDefault: false,
  sampling: "without reasoning",
};

/**
 * The name of a new model of this family says nothing of what it accepts, so it gets what all newer ones
 * accept.
 */
const UNKNOWN: OpenAiModel = {
  ...REASONING,
  names: [],
  chatTools: "never",
  efforts: [...COMMON, "xhigh"],
  sources: ["bolna#1019"],
};
const NEW_NAME = /^gpt-\d/;

export const OPENAI_MODELS: readonly OpenAiModel[] = [
  {
    ...PLAIN,
    names: ["gpt-3.5", "gpt-35", "gpt-4", "gpt-4o", "gpt-4.1", "gpt-4.5"],
    sources: ["litellm", "models.dev"],
  },
  // They reason, and reject the field.
  { ...REASONING, names: ["o1-mini", "o1-preview"], usesResponses: false, efforts: [], sources: ["litellm"] },
  { ...REASONING, names: ["o1", "o3", "o3-mini", "o4-mini"], sources: ["pydantic-ai#6414", "models.dev"] },
  { ...RESPONSES_ONLY, names: ["o1-pro", "o3-pro"], sources: ["litellm", "models.dev"] },
  {
    ...RESPONSES_ONLY,
    names: ["o3-deep-research", "o4-mini-deep-research"],
    efforts: ["medium"],
    sources: ["litellm", "models.dev"],
  },
  {
    ...REASONING,
    names: ["gpt-5", "gpt-5-mini", "gpt-5-nano"],
    efforts: ["minimal", ...COMMON],
    sources: ["pydantic-ai#6414", "models.dev", "smolagents#1671"],
  },
  { ...REASONING, names: ["gpt-5-search-api"], usesResponses: false, sources: ["litellm"] },
  {
    ...PLAIN,
    names: ["gpt-5-chat"],
    hasCompletionLimit: true,
    sources: ["pydantic-ai#6414", "docker-agent#2166"],
  },
  { ...RESPONSES_ONLY, names: ["gpt-5-pro"], efforts: ["high"], sources: ["litellm", "models.dev"] },
  {
    ...RESPONSES_ONLY,
    names: ["gpt-5-codex", "gpt-5.1-codex", "gpt-5.1-codex-mini", "codex-mini"],
    sources: ["litellm", "models.dev"],
  },
  {
    ...RESPONSES_ONLY,
    names: ["gpt-5.1-codex-max", "gpt-5.2-codex"],
    efforts: [...COMMON, "xhigh"],
    sources: ["litellm", "models.dev"],
  },
  {
    ...RESPONSES_ONLY,
    names: ["gpt-5.3-codex", "gpt-5.3-codex-spark"],
    efforts: UP_TO_EXTRA_HIGH,
    reasonsByDefault: false,
    sampling: "without reasoning",
    sources: ["litellm", "models.dev", "pydantic-ai#6414"],
  },
  {
    ...REASONING,
    names: ["gpt-5.1-chat", "gpt-5.2-chat", "gpt-5.3-chat"],
    efforts: ["medium"],
    sources: ["pydantic-ai#6414", "models.dev"],
  },
  {
    ...SWITCHABLE,
    names: ["gpt-5.1"],
    efforts: ["none", ...COMMON],
    sources: ["pydantic-ai#6414", "pydantic-ai#4015", "models.dev"],
  },
  {
    ...SWITCHABLE,
    names: ["gpt-5.2"],
    sources: ["pydantic-ai#6414", "pydantic-ai#4015", "models.dev", "smolagents#1893"],
  },
  {
    ...RESPONSES_ONLY,
    names: ["gpt-5.2-pro", "gpt-5.4-pro", "gpt-5.5-pro"],
    efforts: PRO,
    sources: ["litellm", "models.dev"],
  },
  {
    ...SWITCHABLE,
    names: ["gpt-5.4", "gpt-5.4-mini", "gpt-5.4-nano"],
    chatTools: "without reasoning",
    sources: ["openai-openapi#541", "pipecat#4043", "pydantic-ai#6414", "models.dev"],
  },
  {
    ...SWITCHABLE,
    names: ["gpt-5.5"],
    chatTools: "without reasoning",
    reasonsByDefault: true,
    sources: ["llm-memory-api#178", "pydantic-ai#6414", "models.dev"],
  },
  {
    ...SWITCHABLE,
    names: ["gpt-5.6", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna"],
    chatTools: "without reasoning",
    furtherEfforts: ["max"],
    reasonsByDefault: true,
    sources: ["litellm#34569", "LibreChat#14231", "pydantic-ai#6414", "modelparams#236", "experiential#764"],
  },
  {
    ...REASONING,
    names: ["gpt-6-astra"],
    chatTools: "never",
    efforts: [...COMMON, "xhigh"],
    furtherEfforts: ["max"],
    sources: ["bolna#1019", "litellm-docs#1173"],
  },
  // Whether they accept `none` is not published. They get what gpt-6-astra accepts.
  {
    ...REASONING,
    names: ["gpt-6-sol", "gpt-6-luna"],
    chatTools: "never",
    efforts: [...COMMON, "xhigh"],
    furtherEfforts: ["max"],
    sources: ["onyx#15008"],
  },
  // Models of other kinds, which have names of the same form.
  { ...PLAIN, names: ["gpt-audio", "gpt-image", "gpt-realtime"], sources: ["litellm"] },
];

/** Names are looked up several times per request. */
const found = new Map<string, OpenAiModel | null>();
const MAX_FOUND = 1000;
const MAX_NAME_LENGTH = 200;

/** Returns null if the name is not that of a model of OpenAI, for example that of a deployment. */
export function openaiModelNamed(name: string): OpenAiModel | null {
  const known = found.get(name);
  if (known !== undefined) return known;
  const model = search(name);
  if (found.size >= MAX_FOUND) found.clear();
  if (name.length <= MAX_NAME_LENGTH) found.set(name, model);
  return model;
}

function search(name: string): OpenAiModel | null {
  const model = findModel(OPENAI_MODELS, name);
  if (model !== null) return model;
  return NEW_NAME.test(name.slice(name.lastIndexOf("/") + 1).toLowerCase()) ? UNKNOWN : null;
}
