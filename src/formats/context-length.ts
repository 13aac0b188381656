// Recognizes errors of prompts that exceed the context window. Few providers have a code for them.

/** The code of such errors in the hub format. LangChain and others recognize it. */
export const CONTEXT_LENGTH_EXCEEDED = "context_length_exceeded";

const MESSAGES = [
  "prompt is too long",
  "input is too long",
  "exceed context limit",
  "maximum context length",
  "maximum prompt length",
  "maximum number of tokens",
  "context window",
  "context length",
  "context size",
  "too many tokens",
] as const;

/** `message` is the error message of a provider for a request that it rejected. */
export function isContextLengthMessage(message: string): boolean {
  const text = message.slice(0, 2000).toLowerCase();
  return MESSAGES.some((part) => text.includes(part));
}
