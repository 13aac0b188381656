// The table of known providers: base URL, format, and path of the chat endpoint.
// A target may name any other provider if it sets a base_url. The format is then the hub format unless the target sets one.
import { HUB_FORMAT, type FormatName } from "./format-names.ts";
import type { Format } from "./format.ts";

export interface Provider {
  readonly name: string;
  /** Null if each customer has a different URL, which the target must then set. */
  readonly base_url: string | null;
  readonly format: FormatName;
  readonly default_path: string;
}

const provider = (
  name: string,
  base_url: string | null,
  default_path: string,
  format: FormatName = HUB_FORMAT,
): Provider => ({ name, base_url, format, default_path });

const PROVIDERS: readonly Provider[] = [
  provider("openai", "https://api.openai.com", "/v1/chat/completions"),
  provider("anthropic", "https://api.anthropic.com", "/v1/messages", "anthropic"),
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

const byName = new Map(PROVIDERS.map((known) => [known.name, known]));

export function knownProviders(): readonly Provider[] {
  return PROVIDERS;
}

/** Returns the table entry of a known provider, or the defaults for any other. */
export function providerNamed(name: string): Provider {
  return byName.get(name) ?? provider(name, null, "/v1/chat/completions");
}

/** Returns the path of the chat endpoint for a target with this format, which may differ from the provider's. */
export function chatPathOf(provider: Provider, format: Format): string {
  return provider.format === format.name ? provider.default_path : format.chatPath;
}

export function isKnownProvider(name: string): boolean {
  return byName.has(name);
}
