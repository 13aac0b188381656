// Tools of the Responses API that have a type instead of a name, such as `local_shell`. Their calls (`local_shell_call`) and results
// (`local_shell_call_output`) name them by the type of the item.

const CALL_OR_RESULT = /^(\w+)_call(?:_output)?$/;
/** Such tools have names. */
const NAMED = new Set(["function", "custom_tool"]);

/** Returns the tool of a call or result without a name; null if its type does not tell. */
export function toolOfItem(type: string): string | null {
  const [, tool] = CALL_OR_RESULT.exec(type) ?? [];
  return tool === undefined || NAMED.has(tool) ? null : tool;
}
