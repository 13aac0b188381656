// The formats of the gateway's own error responses, as forms of gateways and rules offer them.
export const ERROR_FORMAT_CHOICES = [
  { value: "gatehouse", label: "Gatehouse" },
  { value: "auto", label: "Format of the request, for SDKs of providers" },
  { value: "openai", label: "OpenAI" },
  { value: "anthropic", label: "Anthropic" },
] as const;
