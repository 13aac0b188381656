// Translates chat messages to the input items of a Responses request.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { sha256 } from "../../base/sha256.ts";
import { readArray, readString, requireObject, requireString } from "../read-fields.ts";
import { TranslationError } from "../translation-error.ts";
import type { TranslationReport } from "../translation-report.ts";

/** OpenAI rejects longer ones. */
const MAX_CALL_ID_LENGTH = 64;

export function encodeInput(messages: unknown, report: TranslationReport, targetTag: string): JsonObject[] {
  if (!Array.isArray(messages)) throw new TranslationError("messages", "messages must be an array.");
  const encoder = new InputEncoder(report, targetTag);
  for (let index = 0; index < messages.length; index++) {
    const path = `messages[${index}]`;
    encoder.encode(requireObject(messages[index], path), path);
  }
  return encoder.items;
}

class InputEncoder {
  readonly items: JsonObject[] = [];
  readonly #report: TranslationReport;
  readonly #targetTag: string;
  readonly #customCalls = new Set<string>();

  constructor(report: TranslationReport, targetTag: string) {
    this.#report = report;
    this.#targetTag = targetTag;
  }

  encode(message: JsonObject, path: string): void {
    this.#report.dropPresent(message, ["cache_control", "name"]);
    const role = requireString(message, "role", path);
    switch (role) {
      case "system":
      case "developer":
      case "user":
        this.#addMessage(role, this.#encodeContent(message["content"], `${path}.content`));
        return;
      case "assistant":
        this.#encodeAssistant(message, path);
        return;
      case "tool":
        this.#encodeToolResult(message, path);
        return;
      default:
        throw new TranslationError(
          `${path}.role`,
          `The role ${JSON.stringify(role)} cannot be translated. Use system, developer, user, assistant, or tool.`,
        );
    }
  }

  #addMessage(role: string, content: unknown): void {
    this.items.push({ type: "message", role, content });
  }

  #encodeAssistant(message: JsonObject, path: string): void {
    const content = this.#encodeOutput(message, path);
    const calls = readArray(message, "tool_calls", path) ?? [];
    const reasoning = this.#encodeReasoning(readArray(message, "reasoning_details", path) ?? []);
    // Reasoning of chat servers is plain text, which the API has no place for. That of the target is in its encrypted items.
    if (reasoning.length === 0) {
      if ((message["reasoning_content"] ?? "") !== "") this.#report.drop("reasoning");
    } else if (content === null && calls.length === 0) {
      // The API rejects reasoning that no other item of the same turn follows.
      this.#report.drop("reasoning");
      return;
    }
    for (const item of reasoning) this.items.push(item);
    if (content !== null) this.#addMessage("assistant", content);
    calls.forEach((call, index) =>
      this.#encodeCall(requireObject(call, `${path}.tool_calls[${index}]`), `${path}.tool_calls[${index}]`),
    );
  }

  /** Returns null if there is no text and no refusal. */
  #encodeOutput({ content, refusal }: JsonObject, path: string): string | JsonObject[] | null {
    const hasRefusal = typeof refusal === "string" && refusal !== "";
    if (!hasRefusal && typeof content === "string") return content === "" ? null : content;
    const parts: JsonObject[] = Array.isArray(content)
      ? content.map((part, index) => this.#encodeOutputPart(part, `${path}.content[${index}]`))
      : [];
    if (typeof content === "string" && content !== "") parts.push({ type: "output_text", text: content });
    if (hasRefusal) parts.push({ type: "refusal", refusal });
    return parts.length === 0 ? null : parts;
  }

  #encodeOutputPart(value: unknown, path: string): JsonObject {
    const part = requireObject(value, path);
    this.#report.dropPresent(part, ["cache_control"]);
    if (part["type"] === "refusal") return { type: "refusal", refusal: requireString(part, "refusal", path) };
    if (part["type"] === "text") return { type: "output_text", text: requireString(part, "text", path) };
    throw new TranslationError(`${path}.type`, `${path}.type must be "text" or "refusal".`);
  }

  /** Only the target that encrypted reasoning can decrypt it. */
  #encodeReasoning(details: readonly unknown[]): JsonObject[] {
    const items: JsonObject[] = [];
    for (const detail of details) {
      const { format, type, target, data, id } = isJsonObject(detail) ? detail : {};
      const isOwn = format === "responses" && type === "reasoning.encrypted" && target === this.#targetTag;
      if (!isOwn || typeof data !== "string") {
        this.#report.drop("reasoning");
        continue;
      }
      items.push({
        type: "reasoning",
        ...(typeof id === "string" ? { id } : {}),
        summary: [],
        encrypted_content: data,
      });
    }
    return items;
  }

  #encodeCall(call: JsonObject, path: string): void {
    const call_id = toCallId(requireString(call, "id", path));
    if (isJsonObject(call["custom"])) {
      const name = requireString(call["custom"], "name", `${path}.custom`);
      const input = requireString(call["custom"], "input", `${path}.custom`);
      this.#customCalls.add(call_id);
      this.items.push({ type: "custom_tool_call", call_id, name, input });
      return;
    }
    const called = requireObject(call["function"], `${path}.function`);
    const name = requireString(called, "name", `${path}.function`);
    const json = requireString(called, "arguments", `${path}.function`);
    // Some providers send "" if there are no arguments.
    this.items.push({ type: "function_call", call_id, name, arguments: json === "" ? "{}" : json });
  }

  #encodeToolResult(message: JsonObject, path: string): void {
    const call_id = toCallId(requireString(message, "tool_call_id", path));
    const content = this.#encodeContent(message["content"] ?? "", `${path}.content`);
    const output = message["is_error"] === true ? asError(content) : content;
    const type = this.#customCalls.has(call_id) ? "custom_tool_call_output" : "function_call_output";
    this.items.push({ type, call_id, output });
  }

  #encodeContent(content: unknown, path: string): string | JsonObject[] {
    if (typeof content === "string") return content;
    if (!Array.isArray(content)) {
      throw new TranslationError(path, `${path} must be a string or an array of parts.`);
    }
    return content.map((value, index) => {
      const part = requireObject(value, `${path}[${index}]`);
      this.#report.dropPresent(part, ["cache_control"]);
      return encodePart(part, `${path}[${index}]`);
    });
  }
}

function toCallId(id: string): string {
  return id.length <= MAX_CALL_ID_LENGTH ? id : sha256(id);
}

/** Tool results have no error flag, so the model reads it in the text. */
function asError(content: string | JsonObject[]): string | JsonObject[] {
  if (typeof content !== "string") return [{ type: "input_text", text: "Error:" }, ...content];
  return /^\W*error/i.test(content) ? content : `Error: ${content}`;
}

function encodePart(part: JsonObject, path: string): JsonObject {
  switch (part["type"]) {
    case "text":
      return { type: "input_text", text: requireString(part, "text", path) };
    case "image_url": {
      const image = requireObject(part["image_url"], `${path}.image_url`);
      const detail = readString(image, "detail", `${path}.image_url`) ?? "auto";
      return { type: "input_image", image_url: requireString(image, "url", `${path}.image_url`), detail };
    }
    case "file":
      return encodeFile(requireObject(part["file"], `${path}.file`), `${path}.file`);
    case "input_audio":
      return { type: "input_audio", input_audio: requireObject(part["input_audio"], `${path}.input_audio`) };
    default:
      throw new TranslationError(
        `${path}.type`,
        `${path}.type is not one that can be translated. Use text, image_url, or file.`,
      );
  }
}

/** The API requires a name for data. */
function encodeFile(file: JsonObject, path: string): JsonObject {
  const data = readString(file, "file_data", path);
  const extension = data?.startsWith("data:text/") === true ? "txt" : "pdf";
  const filename = data === undefined ? {} : { filename: `document.${extension}` };
  return { type: "input_file", ...filename, ...file };
}
