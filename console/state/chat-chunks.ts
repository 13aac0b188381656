// What one event of a stream, or a complete response body, adds to a chat response. In the OpenAI or the Anthropic format.
import { valueAt } from "./json-path.ts";

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON as the model wrote it. */
  readonly arguments: string;
}

/** The part of a response that chunks add to. */
export interface ChatContent {
  /** The model's output so far. */
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  readonly input: number | null;
  readonly output: number | null;
  /** The message of the gateway or provider that rejected the request. */
  readonly error: string | null;
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

export function readChunk(value: unknown, before: ChatContent): Partial<ChatContent> {
  const text = textIn(value);
  const usage = usageIn(value);
  const error = errorIn(value);
  const toolCalls = withToolCalls(value, before.toolCalls);
  return {
    ...(text !== "" && { text: before.text + text }),
    ...(toolCalls !== before.toolCalls && { toolCalls }),
    ...(usage.input !== null && { input: usage.input }),
    ...(usage.output !== null && { output: usage.output }),
    ...(error !== null && { error }),
  };
}

function textIn(value: unknown): string {
  const found = [
    valueAt(value, ["choices", 0, "delta", "content"]),
    valueAt(value, ["choices", 0, "message", "content"]),
    valueAt(value, ["delta", "text"]),
  ].find((each) => typeof each === "string");
  if (typeof found === "string") return found;
  const blocks = valueAt(value, ["content"]);
  if (!Array.isArray(blocks)) return "";
  return blocks
    .map((block) => valueAt(block, ["text"]))
    .filter((text) => typeof text === "string")
    .join("");
}

/** In a stream, a call arrives in pieces: the first has its id and name, and all have a part of its arguments. */
function withToolCalls(value: unknown, before: readonly ToolCall[]): readonly ToolCall[] {
  const pieces =
    valueAt(value, ["choices", 0, "delta", "tool_calls"]) ??
    valueAt(value, ["choices", 0, "message", "tool_calls"]);
  if (!Array.isArray(pieces)) return before;
  const calls = [...before];
  for (const [position, piece] of pieces.entries()) {
    const given = valueAt(piece, ["index"]);
    const index = typeof given === "number" ? given : position;
    const call = calls[index] ?? { id: "", name: "", arguments: "" };
    calls[index] = {
      id: call.id + stringAt(piece, "id"),
      name: call.name + stringAt(piece, "function", "name"),
      arguments: call.arguments + stringAt(piece, "function", "arguments"),
    };
  }
  return calls;
}

function stringAt(value: unknown, ...steps: readonly string[]): string {
  const found = valueAt(value, steps);
  return typeof found === "string" ? found : "";
}

function usageIn(value: unknown): { input: number | null; output: number | null } {
  const usage = valueAt(value, ["usage"]) ?? valueAt(value, ["message", "usage"]);
  const count = (...names: readonly string[]) => {
    const found = names.map((name) => valueAt(usage, [name])).find((each) => typeof each === "number");
    return typeof found === "number" ? found : null;
  };
  return {
    input: count("prompt_tokens", "input_tokens"),
    output: count("completion_tokens", "output_tokens"),
  };
}

function errorIn(value: unknown): string | null {
  const error = valueAt(value, ["error"]);
  if (typeof error === "string") return error;
  const message = valueAt(error, ["message"]);
  return typeof message === "string" ? message : null;
}
