// Translates content blocks of Anthropic messages to the parts of chat messages: texts, images, documents, search results.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { readArray, readString, requireObject, requireString } from "../read-fields.ts";
import { TranslationError } from "../translation-error.ts";
import type { TranslationReport } from "../translation-report.ts";

/** Returns the blocks of a message or tool result with the path of each. A string is one text block. */
export function readBlocks(content: unknown, path: string): [JsonObject, string][] {
  if (typeof content === "string") return [[{ type: "text", text: content }, path]];
  if (!Array.isArray(content))
    throw new TranslationError(path, `${path} must be a string or an array of blocks.`);
  return content.map((block: unknown, index) => {
    const blockPath = `${path}[${index}]`;
    return [requireObject(block, blockPath), blockPath];
  });
}

/** Returns the parts of one block. Throws for blocks that belong into messages of one role, such as `tool_use`. */
export function decodeBlock(block: JsonObject, path: string, report: TranslationReport): JsonObject[] {
  switch (block["type"]) {
    case "text":
      if ((block["citations"] ?? null) !== null) report.drop("citations");
      return [withCacheControl({ type: "text", text: requireString(block, "text", path) }, block)];
    case "image":
      return [withCacheControl(decodeImage(block, path), block)];
    case "document":
      return decodeDocument(block, path, report);
    case "search_result":
      reportCitations(block, report);
      return [withCacheControl(decodeSearchResult(block, path), block)];
    case "tool_reference":
      return [{ type: "text", text: requireString(block, "tool_name", path) }];
    default:
      throw unknownBlock(block, path);
  }
}

/** Returns the parts as content of a chat message: a string if they are one plain text. */
export function toChatContent(parts: JsonObject[]): string | JsonObject[] {
  const [first] = parts;
  if (parts.length !== 1 || first?.["type"] !== "text" || first["cache_control"] !== undefined) return parts;
  return typeof first["text"] === "string" ? first["text"] : parts;
}

/** Returns `part` with the cache breakpoint of the block, if it has one. */
export function withCacheControl(part: JsonObject, block: JsonObject): JsonObject {
  const control = block["cache_control"];
  if (isJsonObject(control)) part["cache_control"] = control;
  return part;
}

function decodeImage(block: JsonObject, path: string): JsonObject {
  const source = requireObject(block["source"], `${path}.source`);
  return { type: "image_url", image_url: { url: sourceUrl(source, `${path}.source`) } };
}

function reportCitations({ citations }: JsonObject, report: TranslationReport): void {
  if (isJsonObject(citations) && citations["enabled"] === true) report.drop("citations");
}

function decodeDocument(block: JsonObject, path: string, report: TranslationReport): JsonObject[] {
  reportCitations(block, report);
  const source = requireObject(block["source"], `${path}.source`);
  const title = readString(block, "title", path);
  const context = readString(block, "context", path);
  const parts: JsonObject[] = context === undefined ? [] : [{ type: "text", text: context }];
  if (source["type"] === "content") {
    if (title !== undefined) parts.push({ type: "text", text: title });
    for (const [inner, innerPath] of readBlocks(source["content"], `${path}.source.content`))
      parts.push(...decodeBlock(inner, innerPath, report));
  } else {
    parts.push({ type: "file", file: decodeFile(source, `${path}.source`, title) });
  }
  const last = parts.at(-1);
  if (last !== undefined) withCacheControl(last, block);
  return parts;
}

function decodeFile(source: JsonObject, path: string, title: string | undefined): JsonObject {
  if (source["type"] === "url") {
    const file: JsonObject = { file_url: requireString(source, "url", path) };
    if (title !== undefined) file["filename"] = title;
    return file;
  }
  if (source["type"] === "text") {
    const data = Buffer.from(requireString(source, "data", path)).toString("base64");
    return { filename: title ?? "document.txt", file_data: `data:text/plain;base64,${data}` };
  }
  return { filename: title ?? "document.pdf", file_data: sourceUrl(source, path) };
}

/** Returns the address of an image or document: its URL, or a data URL with its content. */
function sourceUrl(source: JsonObject, path: string): string {
  if (source["type"] === "url") return requireString(source, "url", path);
  if (source["type"] === "base64")
    return `data:${requireString(source, "media_type", path)};base64,${requireString(source, "data", path)}`;
  throw new TranslationError(
    path,
    `${path} must be of the type "base64", "url" or "text". Files that are stored at Anthropic cannot be translated.`,
  );
}

function decodeSearchResult(block: JsonObject, path: string): JsonObject {
  const lines = [readString(block, "title", path) ?? "", readString(block, "source", path) ?? ""];
  for (const [index, inner] of (readArray(block, "content", path) ?? []).entries()) {
    const innerPath = `${path}.content[${index}]`;
    lines.push(requireString(requireObject(inner, innerPath), "text", innerPath));
  }
  return { type: "text", text: lines.filter((line) => line !== "").join("\n") };
}

export function unknownBlock(block: JsonObject, path: string): TranslationError {
  const type =
    typeof block["type"] === "string" ? `of the type ${JSON.stringify(block["type"])}` : "without a type";
  return new TranslationError(path, `A block ${type} cannot be translated here.`);
}
