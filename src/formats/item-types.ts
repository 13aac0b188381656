// The types of items and content blocks that say who wrote a text. A type that is not listed here says nothing: a server may ignore it, so the
// text counts as the user's unless the message has a role.
import type { TextRole } from "./request-text-fields.ts";

const ASSISTANT_TYPES = new Set([
  "reasoning",
  "function_call",
  "custom_tool_call",
  "local_shell_call",
  "shell_call",
  "apply_patch_call",
  "computer_call",
  "web_search_call",
  "file_search_call",
  "code_interpreter_call",
  "image_generation_call",
  "mcp_call",
  "tool_search_call",
]);
const TOOL_TYPES = new Set([
  "function_call_output",
  "custom_tool_call_output",
  "local_shell_call_output",
  "shell_call_output",
  "apply_patch_call_output",
  "computer_call_output",
  "tool_search_output",
  "tool_result",
  "mcp_tool_result",
  "web_search_tool_result",
  "web_fetch_tool_result",
  "code_execution_tool_result",
  "bash_code_execution_tool_result",
  "text_editor_code_execution_tool_result",
  "tool_search_tool_result",
]);

/** Returns the role that a type implies; null if it implies none. */
export function roleOfType(type: string): TextRole | null {
  if (TOOL_TYPES.has(type)) return "tool";
  return ASSISTANT_TYPES.has(type) ? "assistant" : null;
}

/** Whether the type, known or not, is that of a call. */
export function isCallType(type: string): boolean {
  return type.endsWith("_call") || type.endsWith("tool_use");
}

/** Whether the type, known or not, is that of the result of a tool. */
export function isResultType(type: string): boolean {
  return type.endsWith("_output") || type.endsWith("tool_result");
}
