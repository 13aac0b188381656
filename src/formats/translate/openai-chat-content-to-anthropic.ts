// Translates the content of one OpenAI chat message, a string or parts, into Anthropic blocks: text, images, PDFs.
import type {
  AnthropicDocumentBlock,
  AnthropicImageBlock,
  AnthropicSource,
  AnthropicUserContentBlock,
} from "../anthropic-messages.ts";
import type { JsonObject } from "../../base/json.ts";
import { readString, requireObject, requireString } from "./chat-fields.ts";
import { TranslationError } from "./translation-error.ts";

/** Blocks of a user's message or a tool's result. Empty texts are left out: Anthropic refuses them. */
export function translateContent(content: unknown, path: string): AnthropicUserContentBlock[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  const blocks: AnthropicUserContentBlock[] = [];
  for (const [part, partPath] of readParts(content, path)) {
    const block = translatePart(part, partPath);
    if (block.type !== "text" || block.text !== "") blocks.push(block);
  }
  return blocks;
}

/** The texts of a message that may hold nothing else: system, developer, assistant. */
export function translateTextContent(content: unknown, path: string): string[] {
  if (typeof content === "string") return content === "" ? [] : [content];
  const texts: string[] = [];
  for (const [part, partPath] of readParts(content, path)) {
    const field = part["type"] === "refusal" ? "refusal" : "text";
    if (part["type"] !== field) throw unknownPart(part, partPath, "text");
    const text = requireString(part, field, partPath);
    if (text !== "") texts.push(text);
  }
  return texts;
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

function translatePart(part: JsonObject, path: string): AnthropicUserContentBlock {
  switch (part["type"]) {
    case "text":
      return { type: "text", text: requireString(part, "text", path) };
    case "image_url":
      return translateImage(requireObject(part["image_url"], `${path}.image_url`), `${path}.image_url`);
    case "file":
      return translateFile(requireObject(part["file"], `${path}.file`), `${path}.file`);
    default:
      throw unknownPart(part, path, "text, image_url or file");
  }
}

/** `detail` is dropped: it is a hint about cost for which Anthropic has no word. */
function translateImage(image: JsonObject, path: string): AnthropicImageBlock {
  const url = requireString(image, "url", path);
  if (/^https?:\/\//i.test(url)) return { type: "image", source: { type: "url", url } };
  const source = parseDataUrl(url);
  if (source?.media_type.startsWith("image/") !== true) {
    throw new TranslationError(
      `${path}.url`,
      `${path}.url must be an http(s) URL or a base64 data URL of an image ("data:image/png;base64,…").`,
    );
  }
  // A common misspelling that Anthropic, unlike OpenAI, refuses.
  if (source.media_type === "image/jpg") source.media_type = "image/jpeg";
  return { type: "image", source };
}

function translateFile(file: JsonObject, path: string): AnthropicDocumentBlock {
  const source = parseDataUrl(readString(file, "file_data", path) ?? "");
  if (source?.media_type !== "application/pdf") {
    throw new TranslationError(
      path,
      `${path} must carry a PDF in file_data ("data:application/pdf;base64,…"): Anthropic knows no OpenAI file ids.`,
    );
  }
  const title = readString(file, "filename", path);
  return title === undefined ? { type: "document", source } : { type: "document", source, title };
}

function parseDataUrl(url: string): (AnthropicSource & { type: "base64" }) | null {
  // The data is cut off, not matched, so that megabytes of base64 are not walked by a regular expression.
  const comma = url.indexOf(",");
  if (comma === -1 || comma > 256) return null;
  const head = /^data:([^;,\s]+)(?:;[^;,]+)*;base64$/i.exec(url.slice(0, comma));
  if (head?.[1] === undefined) return null;
  return { type: "base64", media_type: head[1].toLowerCase(), data: url.slice(comma + 1) };
}

function unknownPart(part: JsonObject, path: string, known: string): TranslationError {
  const type =
    typeof part["type"] === "string" ? `of type ${JSON.stringify(part["type"])}` : "without a type";
  return new TranslationError(path, `A part ${type} cannot be sent to Anthropic here: use ${known}.`);
}
