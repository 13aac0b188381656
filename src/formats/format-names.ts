// Names of the wire formats. Kept apart from the registry so that schemas can list the names without loading translators.

export const FORMAT_NAMES = ["openai", "anthropic", "responses", "gemini"] as const;
export type FormatName = (typeof FORMAT_NAMES)[number];

/** What a rule can select for its responses. `request`: the format of the request. */
export const RESPONSE_FORMATS = ["request", "openai", "anthropic", "responses"] as const;
export type ResponseFormat = (typeof RESPONSE_FORMATS)[number];

/** OpenAI chat completions. Every translation has this format on one side, so n formats need n translators, not n². */
export const HUB_FORMAT = "openai" satisfies FormatName;
