// Translates the messages of an OpenAI chat request to Anthropic's: system messages become the system prompt, tool calls and
// results become blocks, and consecutive messages of one role become one message.
import type {
  AnthropicRequestBlock,
  AnthropicRequestMessage,
  AnthropicToolResultBlock,
  AnthropicToolUseBlock,
} from "./wire-types.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { readArray, requireObject, requireString } from "../read-fields.ts";
import { encodeContent, encodeTextContent } from "./encode-content.ts";
import { TranslationError } from "../translation-error.ts";

interface EncodedMessages {
  readonly system: string[];
  readonly messages: AnthropicRequestMessage[];
}

interface Turn {
  readonly role: "user" | "assistant";
  readonly blocks: AnthropicRequestBlock[];
}

export function encodeMessages(messages: unknown): EncodedMessages {
  if (!Array.isArray(messages)) throw new TranslationError("messages", "messages must be an array.");
  const system: string[] = [];
  const turns: Turn[] = [];
  for (const [index, value] of messages.entries()) {
    const path = `messages[${index}]`;
    const message = requireObject(value, path);
    const role = requireString(message, "role", path);
    switch (role) {
      case "system":
      case "developer":
        // Also those in the middle of the conversation, because not every Anthropic model accepts them there.
        system.push(...encodeTextContent(message["content"], `${path}.content`));
        break;
      case "user":
        addToTurn(turns, "user", encodeContent(message["content"], `${path}.content`));
        break;
      case "assistant":
        addToTurn(turns, "assistant", encodeAssistant(message, path));
        break;
      case "tool":
        addToTurn(turns, "user", [encodeToolResult(message, path)]);
        break;
      default:
        throw unknownRole(role, path);
    }
  }
  if (turns.length === 0) {
    throw new TranslationError(
      "messages",
      'Anthropic requires a message other than system messages. Add one with the role "user".',
    );
  }
  return { system, messages: turns.map(toMessage) };
}

/** Anthropic requires alternating roles, and all tool results for one assistant message in one user message. */
function addToTurn(turns: Turn[], role: Turn["role"], blocks: AnthropicRequestBlock[]): void {
  // Anthropic rejects empty content.
  if (blocks.length === 0) return;
  const last = turns.at(-1);
  if (last?.role === role) last.blocks.push(...blocks);
  else turns.push({ role, blocks });
}

function toMessage({ role, blocks }: Turn): AnthropicRequestMessage {
  const [first] = blocks;
  const isPlainText = blocks.length === 1 && first?.type === "text";
  return { role, content: isPlainText ? first.text : blocks };
}

function encodeAssistant(message: JsonObject, path: string): AnthropicRequestBlock[] {
  // A refusal has its text in `refusal` and null in `content`. It is part of the conversation as well.
  const content = message["content"] ?? message["refusal"] ?? null;
  const texts = content === null ? [] : encodeTextContent(content, `${path}.content`);
  const blocks: AnthropicRequestBlock[] = texts.map((text) => ({ type: "text", text }));
  for (const [index, call] of (readArray(message, "tool_calls", path) ?? []).entries()) {
    blocks.push(encodeToolCall(call, `${path}.tool_calls[${index}]`));
  }
  return blocks;
}

function encodeToolCall(value: unknown, path: string): AnthropicToolUseBlock {
  const call = requireObject(value, path);
  if (!isJsonObject(call["function"])) {
    throw new TranslationError(
      path,
      `${path} must be a function call: {"id", "type": "function", "function"}.`,
    );
  }
  const name = requireString(call["function"], "name", `${path}.function`);
  const input = parseArguments(call["function"], `${path}.function`);
  return { type: "tool_use", id: toToolUseId(requireString(call, "id", path)), name, input };
}

function parseArguments(call: JsonObject, parent: string): JsonObject {
  const text = requireString(call, "arguments", parent);
  // Some providers send "" if there are no arguments.
  if (text.trim() === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  if (isJsonObject(value)) return value;
  const path = `${parent}.arguments`;
  throw new TranslationError(path, `${path} must be a JSON object written as a string, for example "{}".`);
}

function encodeToolResult(message: JsonObject, path: string): AnthropicToolResultBlock {
  const id = toToolUseId(requireString(message, "tool_call_id", path));
  const content = message["content"] ?? "";
  if (typeof content === "string") return { type: "tool_result", tool_use_id: id, content };
  const blocks = encodeContent(content, `${path}.content`);
  return { type: "tool_result", tool_use_id: id, content: blocks.length === 0 ? "" : blocks };
}

/** Anthropic's ids consist of letters, digits, `_`, and `-`. Other providers create ids such as `functions.f:0`. */
function toToolUseId(id: string): string {
  return id.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
}

function unknownRole(role: string, path: string): TranslationError {
  const fix =
    role === "function"
      ? "Use the role tool with a tool_call_id."
      : "Use system, developer, user, assistant, or tool.";
  return new TranslationError(
    `${path}.role`,
    `The role ${JSON.stringify(role)} cannot be translated. ${fix}`,
  );
}
