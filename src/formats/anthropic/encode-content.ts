// Translates the content of one chat message, a string or parts, to Anthropic blocks: text, images, documents.
import type {
  AnthropicDocumentBlock,
  AnthropicImageBlock,
  AnthropicTextBlock,
  AnthropicUserContentBlock,
} from "./wire-types.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { parseDataUrl, parseImageUrl, type DataUrl } from "../data-url.ts";
import { readString, requireObject, requireString } from "../read-fields.ts";
import { TranslationError } from "../translation-error.ts";
import type { TranslationReport } from "../translation-report.ts";

/** Returns the blocks of a user message or tool result. Empty and blank texts are left out because Anthropic rejects them. */
export function encodeContent(
  content: unknown,
  path: string,
  report: TranslationReport,
): AnthropicUserContentBlock[] {
  if (typeof content === "string") return isBlank(content, report) ? [] : [{ type: "text", text: content }];
  const blocks: AnthropicUserContentBlock[] = [];
  for (const [part, partPath] of readParts(content, path)) {
    const block = encodePart(part, partPath, report);
    if (block.type === "text" && isBlank(block.text, report)) continue;
    blocks.push(withBreakpoint(block, part));
  }
  return blocks;
}

/** Returns the texts of a system, developer, or assistant message, whose content may only be text. */
export function encodeTextContent(
  content: unknown,
  path: string,
  report: TranslationReport,
): AnthropicTextBlock[] {
  if (typeof content === "string") return isBlank(content, report) ? [] : [{ type: "text", text: content }];
  const texts: AnthropicTextBlock[] = [];
  for (const [part, partPath] of readParts(content, path)) {
    const field = part["type"] === "refusal" ? "refusal" : "text";
    if (part["type"] !== field) throw unknownPart(part, partPath, "text");
    const text = requireString(part, field, partPath);
    if (!isBlank(text, report)) texts.push(withBreakpoint<AnthropicTextBlock>({ type: "text", text }, part));
  }
  return texts;
}

/** Other models often write line breaks before a tool call. Whitespace is reported as dropped, nothing at all is not. */
function isBlank(text: string, report: TranslationReport): boolean {
  if (/\S/.test(text)) return false;
  if (text !== "") report.drop("content");
  return true;
}

/** Returns `block` with the cache breakpoint of `owner`, a part, tool, or message, if it has one. */
export function withBreakpoint<T extends { cache_control?: JsonObject }>(block: T, owner: JsonObject): T {
  const control = owner["cache_control"];
  if (isJsonObject(control)) block.cache_control = control;
  return block;
}

function readParts(content: unknown, path: string): [JsonObject, string][] {
  if (!Array.isArray(content)) {
    throw new TranslationError(path, `${path} must be a string or an array of parts.`);
  }
  return content.map((part: unknown, index) => {
    const partPath = `${path}[${index}]`;
    return [requireObject(part, partPath), partPath];
  });
}

function encodePart(part: JsonObject, path: string, report: TranslationReport): AnthropicUserContentBlock {
  switch (part["type"]) {
    case "text":
      return { type: "text", text: requireString(part, "text", path) };
    case "image_url":
      return encodeImage(requireObject(part["image_url"], `${path}.image_url`), `${path}.image_url`, report);
    case "file":
      return encodeFile(requireObject(part["file"], `${path}.file`), `${path}.file`);
    default:
      throw unknownPart(part, path, "text, image_url, or file");
  }
}

/** `detail` is a hint about cost that Anthropic does not have. */
function encodeImage(image: JsonObject, path: string, report: TranslationReport): AnthropicImageBlock {
  if ((image["detail"] ?? "auto") !== "auto") report.drop("detail");
  const url = requireString(image, "url", path);
  if (/^https?:\/\//i.test(url)) return { type: "image", source: { type: "url", url } };
  const parsed = parseImageUrl(url);
  if (parsed === null) {
    throw new TranslationError(
      `${path}.url`,
      `${path}.url must be an http(s) URL or a base64 data URL of an image ("data:image/png;base64,…").`,
    );
  }
  return { type: "image", source: sourceOf(parsed) };
}

function encodeFile(file: JsonObject, path: string): AnthropicDocumentBlock {
  const url = readString(file, "file_url", path);
  const title = readString(file, "filename", path);
  const source = url === undefined ? encodeFileData(file, path) : ({ type: "url", url } as const);
  return title === undefined ? { type: "document", source } : { type: "document", source, title };
}

function encodeFileData(file: JsonObject, path: string): AnthropicDocumentBlock["source"] {
  const parsed = parseDataUrl(readString(file, "file_data", path) ?? "");
  if (parsed?.mediaType === "application/pdf") return sourceOf(parsed);
  if (parsed?.mediaType.startsWith("text/") === true) {
    const text = Buffer.from(parsed.data, "base64").toString();
    return { type: "text", media_type: "text/plain", data: text };
  }
  throw new TranslationError(
    path,
    `${path} must contain a PDF or a text in file_data ("data:application/pdf;base64,…"). Anthropic cannot read OpenAI file ids.`,
  );
}

function sourceOf({ mediaType, data }: DataUrl) {
  return { type: "base64", media_type: mediaType, data } as const;
}

function unknownPart(part: JsonObject, path: string, known: string): TranslationError {
  const type =
    typeof part["type"] === "string" ? `of type ${JSON.stringify(part["type"])}` : "without a type";
  return new TranslationError(path, `A part ${type} cannot be translated for Anthropic here. Use ${known}.`);
}
