// The providers known by name, as data: where they are, which format they speak, where chat completions live.
// Any other name is accepted with a base_url and taken as the OpenAI format unless the target says otherwise.
import { ANTHROPIC_FORMAT, OPENAI_FORMAT, type WireFormat } from "./format-names.ts";

export interface Provider {
  readonly name: string;
  /** Null where every customer has an address of their own: the target must then say it. */
  readonly base_url: string | null;
  readonly format: WireFormat;
  readonly default_path: string;
}

const provider = (
  name: string,
  base_url: string | null,
  default_path: string,
  format: WireFormat = OPENAI_FORMAT,
): Provider => ({ name, base_url, format, default_path });

const PROVIDERS: readonly Provider[] = [
  provider("openai", "https://api.openai.com", "/v1/chat/completions"),
  provider("anthropic", "https://api.anthropic.com", "/v1/messages", ANTHROPIC_FORMAT),
  provider("azure", null, "/openai/v1/chat/completions"),
  provider("google", "https://generativelanguage.googleapis.com", "/v1beta/openai/chat/completions"),
  provider("mistral", "https://api.mistral.ai", "/v1/chat/completions"),
  provider("groq", "https://api.groq.com", "/openai/v1/chat/completions"),
  provider("deepseek", "https://api.deepseek.com", "/chat/completions"),
  provider("openrouter", "https://openrouter.ai", "/api/v1/chat/completions"),
  provider("together", "https://api.together.xyz", "/v1/chat/completions"),
  provider("fireworks", "https://api.fireworks.ai", "/inference/v1/chat/completions"),
  provider("xai", "https://api.x.ai", "/v1/chat/completions"),
  provider("cohere", "https://api.cohere.ai", "/compatibility/v1/chat/completions"),
  provider("perplexity", "https://api.perplexity.ai", "/chat/completions"),
  provider("bedrock", null, "/openai/v1/chat/completions"),
  provider("ollama", null, "/v1/chat/completions"),
  provider("vllm", null, "/v1/chat/completions"),
];

const byName = new Map(PROVIDERS.map((each) => [each.name, each]));

export function knownProviders(): readonly Provider[] {
  return PROVIDERS;
}

/** The known provider of this name, or what is assumed of any other. */
export function providerNamed(name: string): Provider {
  return byName.get(name) ?? provider(name, null, "/v1/chat/completions");
}

/** Where chat completions live for a target that speaks another format than its provider is known for. */
export function chatPathOf({ format, default_path }: Provider, spoken: WireFormat): string {
  if (spoken === format) return default_path;
  return spoken === ANTHROPIC_FORMAT ? "/v1/messages" : "/v1/chat/completions";
}

/** Whether chat completions of this format live there, at whatever address: every one of the table ends alike. */
export function isChatPath(path: string, format: WireFormat): boolean {
  return path.endsWith(format === ANTHROPIC_FORMAT ? "/messages" : "/chat/completions");
}

export function isKnownProvider(name: string): boolean {
  return byName.has(name);
}
