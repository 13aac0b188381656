// Translates the content of a Responses message or tool output, a string or parts, to the content of a chat message.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { readString, requireObject, requireString } from "../read-fields.ts";
import { TranslationError } from "../translation-error.ts";

/** A string stays one, and so does a single text: some chat providers accept no parts. */
export function decodeContent(content: unknown, path: string): string | JsonObject[] {
  if (typeof content === "string") return content;
  return collapseText(decodeParts(content, path));
}

export function collapseText(parts: JsonObject[]): string | JsonObject[] {
  const [first] = parts;
  if (parts.length !== 1 || !isPlainText(first)) return parts;
  return first.text;
}

export function isPlainText(part: unknown): part is { type: "text"; text: string } {
  return isJsonObject(part) && part["type"] === "text" && part["cache_control"] === undefined;
}

export function decodeParts(content: unknown, path: string): JsonObject[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  if (!Array.isArray(content)) {
    throw new TranslationError(path, `${path} must be a string or an array of parts.`);
  }
  const parts: JsonObject[] = [];
  for (let index = 0; index < content.length; index++) {
    const partPath = `${path}[${index}]`;
    const part = requireObject(content[index], partPath);
    const decoded = decodePart(part, partPath);
    if (isJsonObject(part["prompt_cache_breakpoint"])) decoded["cache_control"] = { type: "ephemeral" };
    parts.push(decoded);
  }
  return parts;
}

function decodePart(part: JsonObject, path: string): JsonObject {
  switch (part["type"]) {
    case "input_text":
    case "output_text":
    // Sent by clients that mix up the formats. OpenAI accepts it in some places.
    case "text":
      return { type: "text", text: requireString(part, "text", path) };
    case "refusal":
      return { type: "refusal", refusal: requireString(part, "refusal", path) };
    case "input_image":
      return decodeImage(part, path);
    case "input_file":
      return decodeFile(part, path);
    case "input_audio":
      return { type: "input_audio", input_audio: requireObject(part["input_audio"], `${path}.input_audio`) };
    default:
      throw new TranslationError(
        `${path}.type`,
        `${path}.type is not one that can be translated. Use input_text, input_image, input_file, or output_text.`,
      );
  }
}

function decodeImage(part: JsonObject, path: string): JsonObject {
  rejectFileId(part, path, "image_url");
  const url = requireString(part, "image_url", path);
  const detail = readString(part, "detail", path);
  return {
    type: "image_url",
    image_url: detail === undefined ? { url } : { url, detail: toChatDetail(detail) },
  };
}

/** Chat completions have no `original`. */
function toChatDetail(detail: string): string {
  return detail === "original" ? "high" : detail;
}

function decodeFile(part: JsonObject, path: string): JsonObject {
  rejectFileId(part, path, "file_data or file_url");
  const data = readString(part, "file_data", path);
  const url = readString(part, "file_url", path);
  const filename = readString(part, "filename", path);
  if (data === undefined && url === undefined) {
    throw new TranslationError(path, `${path} must have file_data or file_url.`);
  }
  const file: JsonObject = data === undefined ? { file_url: url } : { file_data: data };
  if (filename !== undefined) file["filename"] = filename;
  return { type: "file", file };
}

function rejectFileId(part: JsonObject, path: string, instead: string): void {
  if (readString(part, "file_id", path) === undefined) return;
  throw new TranslationError(
    `${path}.file_id`,
    `${path}.file_id names a file at OpenAI, which the provider of the target cannot read. Use ${instead}.`,
  );
}
