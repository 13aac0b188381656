// A conversation of the playground: its turns, and the messages of the next request.
import type { ToolCall } from "./chat-chunks.ts";

/** A response of one model, as far as later requests repeat it. */
export interface Reply {
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  /** What the tools returned, by the id of the call. */
  readonly results: Readonly<Record<string, string>>;
}

export interface Turn<R extends Reply> {
  /** Null if the turn consists of tool results only. */
  readonly user: string | null;
  /** One per model. */
  readonly replies: readonly R[];
}

type Message = Readonly<Record<string, unknown>>;

/**
 * Returns the messages of the next request to a model. Each model sees its own replies. A turn that it did not reply to is left
 * out, because providers reject two messages of the user in a row.
 */
export function messagesFor(
  system: string,
  turns: readonly Turn<Reply>[],
  side: number,
  next: string,
): readonly Message[] {
  const messages: Message[] = [];
  if (system.trim() !== "") messages.push({ role: "system", content: system });
  for (const { user, replies } of turns) {
    const reply = replies[side] ?? replies[0];
    if (reply === undefined || (reply.text === "" && reply.toolCalls.length === 0)) continue;
    if (user !== null) messages.push({ role: "user", content: user });
    messages.push(...messagesOf(reply));
  }
  if (next.trim() !== "") messages.push({ role: "user", content: next });
  return messages;
}

function messagesOf({ text, toolCalls, results }: Reply): readonly Message[] {
  if (toolCalls.length === 0) return [{ role: "assistant", content: text }];
  const calls = toolCalls.map(({ id, name, arguments: given }) => ({
    id,
    type: "function",
    function: { name, arguments: given },
  }));
  const answers = toolCalls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: results[id] ?? "" }));
  return [{ role: "assistant", content: text === "" ? null : text, tool_calls: calls }, ...answers];
}

/** Whether the last replies wait for the results of tools. */
export function awaitsResults(turns: readonly Turn<Reply>[]): boolean {
  return turns.at(-1)?.replies.some(({ toolCalls }) => toolCalls.length > 0) ?? false;
}

/** Returns what is wrong with the tools; null if nothing is. Invalid JSON is a string. */
export function problemOfTools(tools: unknown): string | null {
  if (tools === undefined) return null;
  if (typeof tools === "string") return "Not sent, because the JSON is invalid.";
  if (!Array.isArray(tools)) return "Must be a list: [ … ].";
  for (const [index, tool] of tools.entries()) {
    const { type, function: declared } = fieldsOf(tool);
    if (type !== "function") return `Tool ${index + 1}: "type" must be "function".`;
    const { name, parameters } = fieldsOf(declared);
    if (typeof name !== "string" || !/^[\w-]{1,64}$/.test(name))
      return `Tool ${index + 1}: "function.name" must have 1 to 64 letters, digits, _ and -.`;
    if (parameters !== undefined && fieldsOf(parameters)["type"] !== "object")
      return `Tool ${index + 1}: "function.parameters" must be a JSON schema with "type": "object".`;
  }
  return null;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

export const EXAMPLE_TOOLS = [
  {
    type: "function",
    function: {
      name: "get_weather",
      description: "Returns the weather of a city.",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    },
  },
];
