// Provider names of OpenTelemetry's GenAI semantic conventions, where they differ from the gateway's.

const OTEL_NAMES: ReadonlyMap<string, string> = new Map([
  ["azure", "azure.ai.openai"],
  ["bedrock", "aws.bedrock"],
  ["google", "gcp.gemini"],
  ["mistral", "mistral_ai"],
  ["xai", "x_ai"],
]);

export function otelProviderName(provider: string): string {
  return OTEL_NAMES.get(provider) ?? provider;
}
