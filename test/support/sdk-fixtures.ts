// What the tests of official SDKs share: targets of every format, a model, and a model that calls a tool.
import type { Behavior } from "../../src/fake-provider/behavior.ts";

export const SDK_TARGETS = [
  { provider: "openai", format: "openai" },
  { provider: "anthropic", format: "anthropic" },
  { provider: "openai", format: "responses" },
  { provider: "google", format: "gemini" },
] as const;
export type SdkTarget = (typeof SDK_TARGETS)[number];

export const SDK_MODEL = "fake-1";

/** The answer to a request for structured output. */
export const CITY = { city: "Paris", inhabitants: 2_100_000 };

/** The model asks for the weather, gets it, and answers. */
export const TOOL_TURNS: Behavior = {
  turns: [{ calls: [{ name: "get_weather", arguments: { city: "Paris" } }] }, { text: "It is sunny." }],
};
