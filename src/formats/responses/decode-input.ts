// Translates the input of a Responses request to chat messages. The items of one turn of the model (reasoning, messages, calls)
// become one assistant message.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { ReasoningDetail } from "../chat-extensions.ts";
import { readArray, readString, requireObject, requireString } from "../read-fields.ts";
import { unpackDetail } from "../reasoning-details.ts";
import { TranslationError } from "../translation-error.ts";
import type { TranslationReport } from "../translation-report.ts";
import { hubToolName, TOOL_SEARCH } from "./client-tools.ts";
import { collapseText, decodeContent, decodeParts, isPlainText } from "./decode-content.ts";
import { PARAGRAPH, reasoningTextOf } from "./decode-response.ts";
import { isCopy, isReference, resolveReferences } from "./item-copies.ts";
import type { DecodedTools } from "./decode-tools.ts";

/** Calls of tools that the provider ran. Their results are in the messages that follow, so they can be left out. */
const FINISHED_CALLS: ReadonlySet<string> = new Set([
  "code_interpreter_call",
  "file_search_call",
  "image_generation_call",
  "mcp_call",
  "mcp_list_tools",
  "web_search_call",
]);

interface AssistantMessage {
  /** The path of its first item. */
  readonly path: string;
  readonly parts: JsonObject[];
  readonly calls: JsonObject[];
  readonly reasoning: Reasoning;
}

interface Reasoning {
  readonly texts: string[];
  readonly details: ReasoningDetail[];
}

export class InputDecoder {
  readonly messages: JsonObject[] = [];
  readonly #tools: DecodedTools;
  readonly #report: TranslationReport;
  /** The parts of the system messages at the beginning, which become one message: many models accept only one. */
  readonly #system: JsonObject[] = [];
  #assistant: AssistantMessage | null = null;
  /** Of the item that is decoded. */
  #path = "input";
  /** Of the turn that follows. */
  #pendingReasoning: Reasoning = { texts: [], details: [] };

  /** The tools that the items contain are added to `tools`. */
  constructor(tools: DecodedTools, report: TranslationReport) {
    this.#tools = tools;
    this.#report = report;
  }

  decode(instructions: unknown, input: unknown): void {
    if (typeof instructions === "string") this.#addSystem(decodeParts(instructions, "instructions"));
    else if (Array.isArray(instructions)) this.#decodeItems(instructions, "instructions");
    else if ((instructions ?? null) !== null)
      throw new TranslationError("instructions", "instructions must be a string or an array of items.");
    if (typeof input === "string") this.#addMessage("user", input);
    else if (Array.isArray(input)) this.#decodeItems(resolveReferences(input), "input");
    else throw new TranslationError("input", "input must be a string or an array of items.");
    this.#endAssistant();
    this.#writeSystem();
  }

  #decodeItems(items: readonly unknown[], parent: string): void {
    for (let index = 0; index < items.length; index++) {
      const path = `${parent}[${index}]`;
      this.#decodeItem(requireObject(items[index], path), path);
    }
  }

  #decodeItem(item: JsonObject, path: string): void {
    // Its content is in the items that refer to it.
    if (isCopy(item)) return;
    this.#path = path;
    const type = isReference(item) ? "item_reference" : (item["type"] ?? "message");
    switch (type) {
      case "message":
        this.#decodeMessage(item, path);
        return;
      case "function_call":
      case "custom_tool_call":
      case "tool_search_call":
        this.#addCall(decodeCall(item, path), path);
        return;
      case "function_call_output":
      case "custom_tool_call_output":
        this.#addToolResult(item, path, decodeContent(item["output"] ?? "", `${path}.output`));
        return;
      case "tool_search_output":
        this.#decodeSearchResult(item, path);
        return;
      case "additional_tools":
        this.#tools.add(readArray(item, "tools", path) ?? [], `${path}.tools`);
        return;
      case "reasoning":
        this.#decodeReasoning(item, path);
        return;
      default:
        if (typeof type !== "string" || !FINISHED_CALLS.has(type)) throw untranslatableItem(type, path);
        this.#report.drop(type);
    }
  }

  #decodeMessage(item: JsonObject, path: string): void {
    const role = requireString(item, "role", path);
    const content = item["content"] ?? "";
    this.#report.dropPresent(item, ["phase"]);
    switch (role) {
      case "user":
        this.#addMessage("user", decodeContent(content, `${path}.content`));
        return;
      case "assistant":
        append(this.#openAssistant().parts, decodeParts(content, `${path}.content`));
        return;
      case "system":
      case "developer":
        this.#addSystem(decodeParts(content, `${path}.content`));
        return;
      default:
        throw new TranslationError(
          `${path}.role`,
          `The role ${JSON.stringify(role)} cannot be translated. Use user, assistant, system, or developer.`,
        );
    }
  }

  /** Chat providers other than OpenAI know only the role `system`. */
  #addSystem(parts: JsonObject[]): void {
    if (parts.length === 0) return;
    if (this.messages.length === 0 && this.#assistant === null) append(this.#system, parts);
    else this.#addMessage("system", collapseText(parts));
  }

  #writeSystem(): void {
    const parts = this.#system;
    if (parts.length === 0) return;
    const content = parts.every(isPlainText) ? parts.map(({ text }) => text).join("\n\n") : parts;
    this.messages.unshift({ role: "system", content });
  }

  #addMessage(role: string, content: unknown): void {
    this.#endAssistant();
    this.#push({ role, content }, this.#path);
  }

  /** The calls of several items are in one message. */
  #addCall(call: JsonObject, path: string): void {
    this.#openAssistant().calls.push(call);
    this.#report.setOrigin(call, path);
  }

  #addToolResult(item: JsonObject, path: string, content: unknown): void {
    this.#endAssistant();
    this.#push({ role: "tool", tool_call_id: requireString(item, "call_id", path), content }, path);
  }

  /** The model reads which tools were found, and can call them. */
  #decodeSearchResult(item: JsonObject, path: string): void {
    const found = readArray(item, "tools", path) ?? [];
    this.#tools.add(found, `${path}.tools`);
    this.#addToolResult(item, path, JSON.stringify({ tools: found.flatMap((tool) => namesIn(tool, null)) }));
  }

  /** A summary without encrypted reasoning is the reasoning of a chat target, which some models read. */
  #decodeReasoning(item: JsonObject, path: string): void {
    const reasoning = this.#assistant?.reasoning ?? this.#pendingReasoning;
    const data = readString(item, "encrypted_content", path);
    if (data === undefined) {
      const text = reasoningTextOf(item);
      if (text !== "") reasoning.texts.push(text);
      return;
    }
    const detail = unpackDetail(data);
    // OpenAI's encrypted reasoning: no other provider can read it.
    if (detail === null) this.#report.drop("reasoning");
    else reasoning.details.push(detail);
  }

  #openAssistant(): AssistantMessage {
    if (this.#assistant === null) {
      this.#assistant = { path: this.#path, parts: [], calls: [], reasoning: this.#pendingReasoning };
      this.#pendingReasoning = { texts: [], details: [] };
    }
    return this.#assistant;
  }

  #endAssistant(): void {
    if (this.#assistant === null) {
      this.#dropPendingReasoning();
      return;
    }
    const { path, parts, calls, reasoning } = this.#assistant;
    this.#assistant = null;
    const message: JsonObject = {
      role: "assistant",
      content: parts.length === 0 ? null : collapseText(parts),
    };
    if (calls.length === 0) message["content"] ??= "";
    else message["tool_calls"] = calls;
    if (reasoning.texts.length > 0) message["reasoning_content"] = reasoning.texts.join(PARAGRAPH);
    if (reasoning.details.length > 0) message["reasoning_details"] = reasoning.details;
    this.#push(message, path);
  }

  #push(message: JsonObject, path: string): void {
    this.messages.push(message);
    this.#report.setOrigin(message, path);
  }

  /** Reasoning that no other item of its turn follows. */
  #dropPendingReasoning(): void {
    const { texts, details } = this.#pendingReasoning;
    if (texts.length + details.length > 0) this.#report.drop("reasoning");
    this.#pendingReasoning = { texts: [], details: [] };
  }
}

/** Spreading the parts would overflow the stack if there are too many. */
function append(parts: JsonObject[], more: readonly JsonObject[]): void {
  for (const part of more) parts.push(part);
}

function decodeCall(item: JsonObject, path: string): JsonObject {
  const id = requireString(item, "call_id", path);
  if (item["type"] === "tool_search_call") {
    return toolCall(id, TOOL_SEARCH, JSON.stringify(item["arguments"] ?? {}));
  }
  const name = hubToolName(requireString(item, "name", path), readString(item, "namespace", path) ?? null);
  if (item["type"] === "function_call") return toolCall(id, name, requireString(item, "arguments", path));
  return toolCall(id, name, JSON.stringify({ input: requireString(item, "input", path) }));
}

function toolCall(id: string, name: string, json: string): JsonObject {
  return { id, type: "function", function: { name, arguments: json } };
}

/** Returns the names and descriptions of the functions that a tool becomes. */
function namesIn(tool: unknown, namespace: string | null): object[] {
  if (!isJsonObject(tool) || typeof tool["name"] !== "string") return [];
  const { type, name, tools, description } = tool;
  if (type === "namespace") return Array.isArray(tools) ? tools.flatMap((each) => namesIn(each, name)) : [];
  return [{ name: hubToolName(name, namespace), description }];
}

function untranslatableItem(type: unknown, path: string): TranslationError {
  if (type === "item_reference") {
    return new TranslationError(
      path,
      `${path} refers to a stored item, but nothing is stored for this target. Send the item itself; the AI SDK does so with providerOptions.openai.store = false.`,
    );
  }
  if (type === "compaction" || type === "compaction_trigger") {
    return new TranslationError(
      `${path}.type`,
      "The provider of the target cannot compact conversations. Compact them in the client; Codex does so with a provider in model_providers instead of openai_base_url.",
    );
  }
  return new TranslationError(
    `${path}.type`,
    `An item of type ${JSON.stringify(type)} cannot be translated to the format of the target. Remove it.`,
  );
}
