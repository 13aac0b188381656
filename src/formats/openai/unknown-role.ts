// The error for a message of a chat request whose role no other format has.
import { TranslationError } from "../translation-error.ts";

/** `path` is that of the message. */
export function unknownRole(role: string, path: string): TranslationError {
  const fix =
    role === "function"
      ? "Use the role tool with a tool_call_id."
      : "Use system, developer, user, assistant, or tool.";
  return new TranslationError(
    `${path}.role`,
    `The role ${JSON.stringify(role)} cannot be translated. ${fix}`,
  );
}
