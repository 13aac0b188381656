// What OpenTelemetry's GenAI conventions call the providers that we call otherwise.

const SEMANTIC_NAMES: Readonly<Record<string, string>> = {
  azure: "azure.ai.openai",
  bedrock: "aws.bedrock",
  google: "gcp.gemini",
  mistral: "mistral_ai",
  xai: "x_ai",
};

export function semanticNameOf(provider: string): string {
  return Object.hasOwn(SEMANTIC_NAMES, provider) ? (SEMANTIC_NAMES[provider] ?? provider) : provider;
}
