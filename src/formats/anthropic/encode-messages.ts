// Translates the messages of a chat request to Anthropic's: system messages become the system prompt, tool calls and
// results become blocks, and consecutive messages of one role become one message.
import type {
  AnthropicRequestBlock,
  AnthropicRequestMessage,
  AnthropicTextBlock,
  AnthropicThinkingBlock,
  AnthropicToolResultBlock,
  AnthropicToolUseBlock,
} from "./wire-types.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { readArray, readString, requireObject, requireString } from "../read-fields.ts";
import { isReasoningDetail } from "../reasoning-details.ts";
import { TranslationError } from "../translation-error.ts";
import type { TranslationReport } from "../translation-report.ts";
import { encodeContent, encodeTextContent, withBreakpoint } from "./encode-content.ts";
import { toThinkingBlock } from "./thinking-blocks.ts";
import { inputOf } from "./tool-arguments.ts";
import { unknownRole } from "../openai/unknown-role.ts";

interface EncodedMessages {
  readonly system: AnthropicTextBlock[];
  readonly messages: AnthropicRequestMessage[];
  /** Whether the turn in progress has tool calls without the thinking that preceded them. */
  readonly lacksThinking: boolean;
}

interface Turn {
  readonly role: "user" | "assistant";
  readonly blocks: AnthropicRequestBlock[];
}

export function encodeMessages(messages: unknown, report: TranslationReport): EncodedMessages {
  if (!Array.isArray(messages)) throw new TranslationError("messages", "messages must be an array.");
  let system: AnthropicTextBlock[] = [];
  const turns: Turn[] = [];
  for (const [index, value] of messages.entries()) {
    const path = `messages[${index}]`;
    const message = requireObject(value, path);
    const role = requireString(message, "role", path);
    // Names of participants.
    report.dropPresent(message, ["name"]);
    switch (role) {
      case "system":
      case "developer":
        // Also those in the middle of the conversation, because not every Anthropic model accepts them there.
        system.push(...encodeTextContent(message["content"], `${path}.content`, report));
        break;
      case "user":
        addToTurn(turns, "user", encodeUser(message, `${path}.content`, report));
        break;
      case "assistant":
        addToTurn(turns, "assistant", encodeAssistant(message, path, report));
        break;
      case "tool":
        addToTurn(turns, "user", [encodeToolResult(message, path, report)]);
        break;
      default:
        throw unknownRole(role, path);
    }
  }
  // Anthropic requires a message. OpenAI's models respond to instructions alone.
  if (turns.length === 0) {
    addToTurn(turns, "user", system);
    system = [];
  }
  if (turns.length === 0)
    throw new TranslationError("messages", "messages must contain a message that is not empty.");
  return { system, messages: turns.map(toMessage), lacksThinking: lacksThinking(turns) };
}

/** Anthropic requires alternating roles, and all tool results for one assistant message in one user message. */
function addToTurn(turns: Turn[], role: Turn["role"], blocks: AnthropicRequestBlock[]): void {
  // Anthropic rejects empty content.
  if (blocks.length === 0) return;
  const last = turns.at(-1);
  if (last?.role === role) for (const block of blocks) last.blocks.push(block);
  else turns.push({ role, blocks });
}

function toMessage({ role, blocks }: Turn): AnthropicRequestMessage {
  const [first] = blocks;
  const isPlainText = blocks.length === 1 && first?.type === "text" && first.cache_control === undefined;
  return { role, content: isPlainText ? first.text : blocks };
}

/** A turn in progress consists of the assistant messages and tool results since the last message of the user. */
function lacksThinking(turns: readonly Turn[]): boolean {
  let first: Turn | null = null;
  for (let index = turns.length - 1; index >= 0; index -= 1) {
    const turn = turns[index];
    if (turn === undefined) break;
    if (turn.role === "assistant") first = turn;
    else if (!turn.blocks.some(({ type }) => type === "tool_result")) break;
  }
  if (first?.blocks.some(({ type }) => type === "tool_use") !== true) return false;
  const type = first.blocks[0]?.type;
  return type !== "thinking" && type !== "redacted_thinking";
}

function encodeUser(message: JsonObject, path: string, report: TranslationReport): AnthropicRequestBlock[] {
  const blocks = encodeContent(message["content"], path, report);
  const last = blocks.at(-1);
  if (last !== undefined) withBreakpoint(last, message);
  return blocks;
}

function encodeAssistant(
  message: JsonObject,
  path: string,
  report: TranslationReport,
): AnthropicRequestBlock[] {
  const thinking = encodeReasoning(message, report);
  const texts = encodeTextContent(message["content"] ?? "", `${path}.content`, report);
  // A refusal has its text in `refusal`. It is part of the conversation as well.
  texts.push(...encodeTextContent(readString(message, "refusal", path) ?? "", `${path}.refusal`, report));
  const calls: AnthropicToolUseBlock[] = [];
  for (const [index, call] of (readArray(message, "tool_calls", path) ?? []).entries())
    calls.push(encodeToolCall(call, `${path}.tool_calls[${index}]`));
  const last = calls.at(-1) ?? texts.at(-1);
  if (last !== undefined) withBreakpoint(last, message);
  // Thinking alone is no content.
  return last === undefined ? [] : [...thinking, ...texts, ...calls];
}

/** Anthropic accepts its own reasoning only, and texts only with their signature. */
function encodeReasoning(message: JsonObject, report: TranslationReport): AnthropicThinkingBlock[] {
  const blocks: AnthropicThinkingBlock[] = [];
  const { reasoning_details: details, reasoning_content: text } = message;
  for (const detail of Array.isArray(details) ? details : []) {
    const isOwn = isReasoningDetail(detail) && detail.format === "anthropic";
    if (isOwn && (detail.signature ?? detail.data) !== undefined) blocks.push(toThinkingBlock(detail));
    else report.drop("reasoning");
  }
  if (blocks.length === 0 && typeof text === "string" && text !== "") report.drop("reasoning");
  return blocks;
}

function encodeToolCall(value: unknown, path: string): AnthropicToolUseBlock {
  const call = requireObject(value, path);
  const id = toToolUseId(requireString(call, "id", path));
  const { function: definition, custom } = call;
  if (isJsonObject(custom)) {
    const input = { input: requireString(custom, "input", `${path}.custom`) };
    return { type: "tool_use", id, name: requireString(custom, "name", `${path}.custom`), input };
  }
  if (!isJsonObject(definition)) {
    throw new TranslationError(
      path,
      `${path} must be a function call: {"id", "type": "function", "function"}.`,
    );
  }
  const name = requireString(definition, "name", `${path}.function`);
  const input = inputOf(requireString(definition, "arguments", `${path}.function`));
  return { type: "tool_use", id, name, input };
}

function encodeToolResult(
  message: JsonObject,
  path: string,
  report: TranslationReport,
): AnthropicToolResultBlock {
  const id = toToolUseId(requireString(message, "tool_call_id", path));
  const value = message["content"] ?? "";
  const blocks = typeof value === "string" ? value : encodeContent(value, `${path}.content`, report);
  const result: AnthropicToolResultBlock = {
    type: "tool_result",
    tool_use_id: id,
    content: blocks.length === 0 ? "" : blocks,
  };
  if (message["is_error"] === true) result.is_error = true;
  return withBreakpoint(result, message);
}

/** Anthropic's ids consist of letters, digits, `_`, and `-`. Other providers create ids such as `functions.f:0`. */
function toToolUseId(id: string): string {
  return id.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
}
