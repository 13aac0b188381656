// Translates the messages of an OpenAI chat request into Anthropic's: system text hoisted out, tool calls and
// results as blocks, neighbouring messages of one role merged into one turn.
import type {
  AnthropicRequestBlock,
  AnthropicRequestMessage,
  AnthropicToolResultBlock,
  AnthropicToolUseBlock,
} from "../anthropic-messages.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { readArray, requireObject, requireString } from "./chat-fields.ts";
import { translateContent, translateTextContent } from "./openai-chat-content-to-anthropic.ts";
import { TranslationError } from "./translation-error.ts";

export interface TranslatedMessages {
  readonly system: string[];
  readonly messages: AnthropicRequestMessage[];
}

interface Turn {
  readonly role: "user" | "assistant";
  readonly blocks: AnthropicRequestBlock[];
}

export function translateChatMessages(messages: unknown): TranslatedMessages {
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
        // Wherever they stand: not every model takes Anthropic's mid-conversation system messages.
        system.push(...translateTextContent(message["content"], `${path}.content`));
        break;
      case "user":
        addToTurn(turns, "user", translateContent(message["content"], `${path}.content`));
        break;
      case "assistant":
        addToTurn(turns, "assistant", translateAssistant(message, path));
        break;
      case "tool":
        addToTurn(turns, "user", [translateToolResult(message, path)]);
        break;
      default:
        throw unknownRole(role, path);
    }
  }
  if (turns.length === 0) {
    throw new TranslationError(
      "messages",
      "Anthropic needs a message to answer: add one with the role user.",
    );
  }
  return { system, messages: turns.map(toMessage) };
}

/** Anthropic wants user and assistant to alternate, and all results of one assistant turn in one user message. */
function addToTurn(turns: Turn[], role: Turn["role"], blocks: AnthropicRequestBlock[]): void {
  // A message with nothing in it says nothing, and Anthropic refuses empty content.
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

function translateAssistant(message: JsonObject, path: string): AnthropicRequestBlock[] {
  // A refused turn has its words in `refusal` and null in `content`; it is part of the conversation all the same.
  const content = message["content"] ?? message["refusal"] ?? null;
  const texts = content === null ? [] : translateTextContent(content, `${path}.content`);
  const blocks: AnthropicRequestBlock[] = texts.map((text) => ({ type: "text", text }));
  for (const [index, call] of (readArray(message, "tool_calls", path) ?? []).entries()) {
    blocks.push(translateToolCall(call, `${path}.tool_calls[${index}]`));
  }
  return blocks;
}

function translateToolCall(value: unknown, path: string): AnthropicToolUseBlock {
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
  // Some providers write no arguments as no text at all.
  if (text.trim() === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  if (isJsonObject(value)) return value;
  const path = `${parent}.arguments`;
  throw new TranslationError(path, `${path} must be a JSON object written as a string, such as "{}".`);
}

function translateToolResult(message: JsonObject, path: string): AnthropicToolResultBlock {
  const id = toToolUseId(requireString(message, "tool_call_id", path));
  const content = message["content"] ?? "";
  if (typeof content === "string") return { type: "tool_result", tool_use_id: id, content };
  const blocks = translateContent(content, `${path}.content`);
  return { type: "tool_result", tool_use_id: id, content: blocks.length === 0 ? "" : blocks };
}

/** Anthropic takes letters, digits, `_` and `-` in ids; a call another provider made may carry `functions.f:0`. */
function toToolUseId(id: string): string {
  return id.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
}

function unknownRole(role: string, path: string): TranslationError {
  const mend =
    role === "function"
      ? "use the role tool with a tool_call_id"
      : "use system, developer, user, assistant or tool";
  return new TranslationError(`${path}.role`, `The role ${JSON.stringify(role)} is not translated: ${mend}.`);
}
