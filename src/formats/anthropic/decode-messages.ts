// Translates the system prompt and the messages of an Anthropic request to chat messages. Tool results become messages of
// their own, and thinking blocks become reasoning details, which carry their signatures.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { ReasoningDetail } from "../chat-extensions.ts";
import { readString, requireObject, requireString } from "../read-fields.ts";
import { unpackDetail } from "../reasoning-details.ts";
import { TranslationError } from "../translation-error.ts";
import type { TranslationReport } from "../translation-report.ts";
import { decodeBlock, readBlocks, toChatContent, unknownBlock, withCacheControl } from "./decode-blocks.ts";
import { argumentsOf } from "./tool-arguments.ts";
import { toHubToolName } from "./tool-names.ts";
import { UNSIGNED } from "./thinking-blocks.ts";

/** Blocks of tools that Anthropic ran in an earlier turn. No other provider has seen them. */
const SERVER_TOOL_BLOCK = /^server_tool_use$|^mcp_tool_use$|_tool_result$/;

export function decodeMessages(body: JsonObject, report: TranslationReport): JsonObject[] {
  const messages: JsonObject[] = [];
  const { system } = body;
  if (system !== undefined && system !== null) addSystem(messages, system, "system", report);
  if (!Array.isArray(body["messages"])) throw new TranslationError("messages", "messages must be an array.");
  for (const [index, value] of body["messages"].entries()) {
    const path = `messages[${index}]`;
    const message = requireObject(value, path);
    const content = message["content"];
    const first = messages.length;
    switch (message["role"]) {
      case "user":
        addUser(messages, content, `${path}.content`, report);
        break;
      case "assistant":
        messages.push(decodeAssistant(content, `${path}.content`, report));
        break;
      case "system":
        addSystem(messages, content, `${path}.content`, report);
        break;
      default:
        throw new TranslationError(`${path}.role`, `${path}.role must be "user", "assistant" or "system".`);
    }
    for (const decoded of messages.slice(first)) report.setOrigin(decoded, path);
  }
  return messages;
}

function addSystem(messages: JsonObject[], content: unknown, path: string, report: TranslationReport): void {
  const parts: JsonObject[] = [];
  for (const [block, blockPath] of readBlocks(content, path)) {
    if (block["type"] !== "text") throw unknownBlock(block, blockPath);
    if (block["text"] !== "") parts.push(...decodeBlock(block, blockPath, report));
  }
  if (parts.length > 0) messages.push({ role: "system", content: toChatContent(parts) });
}

/** Chat requires the results of tool calls directly after the calls, so they precede the rest of the message. */
function addUser(messages: JsonObject[], content: unknown, path: string, report: TranslationReport): void {
  const parts: JsonObject[] = [];
  for (const [block, blockPath] of readBlocks(content, path)) {
    if (block["type"] === "tool_result") messages.push(decodeToolResult(block, blockPath, report));
    else parts.push(...decodeBlock(block, blockPath, report));
  }
  if (parts.length > 0) messages.push({ role: "user", content: toChatContent(parts) });
}

function decodeToolResult(block: JsonObject, path: string, report: TranslationReport): JsonObject {
  const parts: JsonObject[] = [];
  for (const [inner, innerPath] of readBlocks(block["content"] ?? "", `${path}.content`))
    parts.push(...decodeBlock(inner, innerPath, report));
  const message: JsonObject = {
    role: "tool",
    tool_call_id: requireString(block, "tool_use_id", path),
    content: parts.length === 0 ? "" : toChatContent(parts),
  };
  if (block["is_error"] === true) message["is_error"] = true;
  return withCacheControl(message, block);
}

/** What the blocks of an assistant message become. */
interface AssistantParts {
  readonly texts: JsonObject[];
  readonly calls: JsonObject[];
  readonly details: ReasoningDetail[];
  reasoning: string;
}

function decodeAssistant(content: unknown, path: string, report: TranslationReport): JsonObject {
  const parts: AssistantParts = { texts: [], calls: [], details: [], reasoning: "" };
  let cacheControl: unknown;
  for (const [block, blockPath] of readBlocks(content, path)) {
    addAssistantBlock(parts, block, blockPath, report);
    if (block["type"] === "tool_use") cacheControl = block["cache_control"] ?? cacheControl;
  }
  const { texts, calls, details, reasoning } = parts;
  const text = texts.length === 0 ? null : toChatContent(texts);
  const message: JsonObject = { role: "assistant", content: text ?? (calls.length === 0 ? "" : null) };
  if (reasoning !== "") message["reasoning_content"] = reasoning;
  if (details.length > 0) message["reasoning_details"] = details;
  if (calls.length > 0) message["tool_calls"] = calls;
  if (isJsonObject(cacheControl)) message["cache_control"] = cacheControl;
  return message;
}

function addAssistantBlock(
  parts: AssistantParts,
  block: JsonObject,
  path: string,
  report: TranslationReport,
): void {
  const { type } = block;
  if (type === "text") {
    parts.texts.push(...decodeBlock(block, path, report));
  } else if (type === "tool_use") {
    parts.calls.push({
      id: requireString(block, "id", path),
      type: "function",
      function: {
        name: toHubToolName(requireString(block, "name", path)),
        arguments: argumentsOf(block["input"]),
      },
    });
  } else if (type === "thinking") {
    const text = requireString(block, "thinking", path);
    const signature = readString(block, "signature", path);
    if (signature === UNSIGNED) parts.reasoning += text;
    else parts.details.push(signedDetail(text, signature));
  } else if (type === "redacted_thinking") {
    const data = requireString(block, "data", path);
    parts.details.push(unpackDetail(data) ?? { type: "reasoning.encrypted", format: "anthropic", data });
  } else if (type === "compaction") {
    parts.texts.push({ type: "text", text: requireString(block, "content", path) });
  } else if (typeof type === "string" && SERVER_TOOL_BLOCK.test(type)) {
    report.drop(type);
  } else {
    throw unknownBlock(block, path);
  }
}

function signedDetail(text: string, signature: string | undefined): ReasoningDetail {
  const detail = { type: "reasoning.text", format: "anthropic", text } as const;
  return signature === undefined ? detail : { ...detail, signature };
}
