// The table of known providers: base URL, and the APIs that they offer with format, path prefix, and operations.
// A target may name any other provider if it sets a base_url. It then has the operations of OpenAI's API except responses,
// unless the target sets a format.
// Not included are Bedrock's InvokeModel and Vertex AI's own API.
import { HUB_FORMAT, type FormatName } from "./format-names.ts";
import { CHAT_OPERATIONS, type Operation } from "./operations.ts";

/** One API of a provider. */
export interface ProviderApi {
  readonly format: FormatName;
  /** The part of the path before the name of the operation. */
  readonly prefix: string;
  readonly operations: readonly Operation[];
}

export interface Provider {
  readonly name: string;
  /** Null if each customer has a different URL, which the target must then set. */
  readonly base_url: string | null;
  /** In the order in which they are used for requests of a format that the provider does not have. */
  readonly apis: readonly ProviderApi[];
}

const CHAT: readonly Operation[] = ["chat"];
const EVERY_OPENAI_OPERATION: readonly Operation[] = [
  "chat",
  "completions",
  "embeddings",
  "models",
  "images",
  "audio_speech",
  "audio_transcription",
  "moderations",
  "files",
  "batches",
  "rerank",
  "fine_tuning",
];
const OPENAI_OPERATIONS = EVERY_OPENAI_OPERATION.filter((operation) => operation !== "rerank");
const SELF_HOSTED: readonly Operation[] = ["chat", "completions", "embeddings", "models"];
const MESSAGES: readonly Operation[] = ["messages", "count_tokens", "models", "files", "batches"];

const openai = (prefix: string, operations: readonly Operation[]): ProviderApi => ({
  format: HUB_FORMAT,
  prefix,
  operations,
});
const anthropic = (prefix: string, operations: readonly Operation[] = ["messages"]): ProviderApi => ({
  format: "anthropic",
  prefix,
  operations,
});

const responses = (prefix: string, operations: readonly Operation[] = ["responses"]): ProviderApi => ({
  format: "responses",
  prefix,
  operations,
});
const gemini = (prefix: string): ProviderApi => ({
  format: "gemini",
  prefix,
  operations: ["generate_content", "count_tokens", "embeddings"],
});

const PROVIDERS: readonly Provider[] = [
  {
    name: "openai",
    base_url: "https://api.openai.com",
    apis: [openai("/v1", OPENAI_OPERATIONS), responses("/v1", ["responses", "count_tokens"])],
  },
  { name: "anthropic", base_url: "https://api.anthropic.com", apis: [anthropic("/v1", MESSAGES)] },
  {
    name: "azure",
    base_url: null,
    apis: [openai("/openai/v1", OPENAI_OPERATIONS), responses("/openai/v1")],
  },
  {
    name: "google",
    base_url: "https://generativelanguage.googleapis.com",
    apis: [openai("/v1beta/openai", ["chat", "embeddings", "models", "images"]), gemini("/v1beta")],
  },
  {
    name: "mistral",
    base_url: "https://api.mistral.ai",
    apis: [openai("/v1", ["chat", "embeddings", "models", "moderations", "files", "audio_transcription"])],
  },
  {
    name: "groq",
    base_url: "https://api.groq.com",
    apis: [
      openai("/openai/v1", ["chat", "models", "audio_speech", "audio_transcription", "files", "batches"]),
      responses("/openai/v1"),
    ],
  },
  {
    name: "deepseek",
    base_url: "https://api.deepseek.com",
    apis: [openai("", ["chat", "models"]), anthropic("/anthropic/v1")],
  },
  {
    name: "openrouter",
    base_url: "https://openrouter.ai",
    apis: [
      openai("/api/v1", ["chat", "completions", "embeddings", "models"]),
      anthropic("/api/v1"),
      responses("/api/v1"),
    ],
  },
  {
    name: "together",
    base_url: "https://api.together.xyz",
    apis: [
      openai("/v1", [
        "chat",
        "completions",
        "embeddings",
        "models",
        "images",
        "audio_speech",
        "audio_transcription",
        "files",
        "batches",
        "rerank",
      ]),
    ],
  },
  {
    name: "fireworks",
    base_url: "https://api.fireworks.ai",
    apis: [
      openai("/inference/v1", ["chat", "completions", "embeddings", "models", "rerank"]),
      responses("/inference/v1"),
    ],
  },
  {
    name: "xai",
    base_url: "https://api.x.ai",
    apis: [openai("/v1", ["chat", "completions", "models", "images"]), responses("/v1")],
  },
  {
    name: "cohere",
    base_url: "https://api.cohere.ai",
    apis: [openai("/compatibility/v1", ["chat", "embeddings"]), openai("/v2", ["rerank"])],
  },
  { name: "perplexity", base_url: "https://api.perplexity.ai", apis: [openai("", CHAT)] },
  { name: "bedrock", base_url: null, apis: [openai("/openai/v1", CHAT)] },
  { name: "ollama", base_url: null, apis: [openai("/v1", SELF_HOSTED)] },
  {
    name: "vllm",
    base_url: null,
    apis: [openai("/v1", [...SELF_HOSTED, "rerank", "audio_transcription"])],
  },
];

/** The APIs of a provider that is not in the table, or whose table entry lacks the format of the target. */
const OTHER_APIS: Readonly<Record<FormatName, ProviderApi>> = {
  openai: openai("/v1", EVERY_OPENAI_OPERATION),
  anthropic: anthropic("/v1", MESSAGES),
  responses: responses("/v1", ["responses", "count_tokens"]),
  gemini: gemini("/v1beta"),
};

const byName = new Map(PROVIDERS.map((known) => [known.name, known]));

export function knownProviders(): readonly Provider[] {
  return PROVIDERS;
}

export function providerNamed(name: string): Provider {
  return byName.get(name) ?? { name, base_url: null, apis: [OTHER_APIS[HUB_FORMAT]] };
}

export function isKnownProvider(name: string): boolean {
  return byName.has(name);
}

/** Returns the format that a provider has, or that comes first in the table. */
export function formatOf({ apis }: Provider): FormatName {
  return apis[0]?.format ?? HUB_FORMAT;
}

/**
 * Returns the APIs of a target. If it sets a format, its chat requests use only that format. The other operations stay those of
 * the provider, if it is in the table.
 */
export function apisOf(provider: Provider, format: FormatName | null): readonly ProviderApi[] {
  if (format === null) return provider.apis;
  if (!isKnownProvider(provider.name)) return [OTHER_APIS[format]];
  const own = provider.apis.filter((api) => api.format === format);
  const others = provider.apis.filter((api) => api.format !== format).map(withoutChat);
  return [...(own.length === 0 ? [OTHER_APIS[format]] : own), ...others];
}

function withoutChat({ format, prefix, operations }: ProviderApi): ProviderApi {
  const chat = CHAT_OPERATIONS[format];
  return { format, prefix, operations: operations.filter((operation) => operation !== chat) };
}
