// The wire formats, as forms of rules and targets offer them.
import type { Rule, Target } from "../api/types.ts";
import type { Choice } from "./inputs.tsx";

type FormatName = NonNullable<Target["format"]>;

const FORMAT_LABELS: Readonly<Record<FormatName, string>> = {
  openai: "OpenAI chat completions",
  anthropic: "Anthropic messages",
  responses: "OpenAI Responses",
  gemini: "Gemini generateContent",
};

const RESPONSE_FORMAT_LABELS: Readonly<Record<NonNullable<Rule["response_format"]>, string>> = {
  request: "Format of the request",
  openai: FORMAT_LABELS.openai,
  anthropic: FORMAT_LABELS.anthropic,
  responses: FORMAT_LABELS.responses,
};

export const FORMAT_CHOICES: readonly Choice[] = choicesOf(FORMAT_LABELS);
export const RESPONSE_FORMAT_CHOICES: readonly Choice[] = choicesOf(RESPONSE_FORMAT_LABELS);

function choicesOf(labels: Readonly<Record<string, string>>): Choice[] {
  return Object.entries(labels).map(([value, label]) => ({ value, label }));
}
