// Writes messages of the hub format as chat endpoints accept them: without cache breakpoints and reasoning details, and with
// images of tool results in a user message, because the content of tool messages is text.
import type { JsonObject } from "../../base/json.ts";
import { sha256 } from "../../base/sha256.ts";
import { readArray, readString, requireObject, requireString } from "../read-fields.ts";
import { TranslationError } from "../translation-error.ts";
import type { TranslationReport } from "../translation-report.ts";

const TEXT_FILE_PREFIX = /^data:text\/[^;,]+(?:;[^;,]+)*;base64$/i;
/** OpenAI rejects longer ones. */
const MAX_CALL_ID_LENGTH = 40;
const SEE_NEXT = "The content of this result is in the next user message.";

export function encodeMessages(
  messages: unknown,
  readsReasoning: boolean,
  report: TranslationReport,
): JsonObject[] {
  if (!Array.isArray(messages)) throw new TranslationError("messages", "messages must be an array.");
  const encoded: JsonObject[] = [];
  /** Images and files of the results of one turn. They follow the last of these results. */
  let media: JsonObject[] = [];
  for (const [index, value] of messages.entries()) {
    const path = `messages[${index}]`;
    const message = requireObject(value, path);
    if (message["role"] === "tool") {
      encoded.push(encodeResult(message, path, media, report));
      continue;
    }
    const next = encodeMessage(message, path, readsReasoning, report);
    // Some servers require that the roles alternate.
    if (media.length > 0 && next["role"] === "user")
      next["content"] = [...media, ...toParts(next["content"])];
    else if (media.length > 0) encoded.push({ role: "user", content: media });
    media = [];
    encoded.push(next);
  }
  if (media.length > 0) encoded.push({ role: "user", content: media });
  return encoded;
}

function toParts(content: unknown): unknown[] {
  return Array.isArray(content) ? content : [{ type: "text", text: content }];
}

function encodeMessage(
  message: JsonObject,
  path: string,
  readsReasoning: boolean,
  report: TranslationReport,
): JsonObject {
  const { cache_control, reasoning_details, reasoning_content, ...encoded } = message;
  if (cache_control !== undefined) report.drop("cache_control");
  if (Array.isArray(reasoning_details) && reasoning_details.length > 0) report.drop("reasoning");
  if (typeof reasoning_content === "string" && reasoning_content !== "") {
    if (readsReasoning) encoded["reasoning_content"] = reasoning_content;
    else report.drop("reasoning");
  }
  if (Array.isArray(message["content"])) {
    const parts = encodeParts(message["content"], `${path}.content`, report);
    // Texts of assistants are pieces of one text; those of instructions are paragraphs.
    const separator = message["role"] === "assistant" ? "" : "\n\n";
    encoded["content"] = message["role"] === "user" ? toUserContent(parts) : joinTexts(parts, separator);
  }
  const calls = readArray(message, "tool_calls", path);
  if (calls !== undefined)
    encoded["tool_calls"] = calls.map((call, index) => encodeCall(call, `${path}.tool_calls[${index}]`));
  return encoded;
}

function encodeCall(value: unknown, path: string): JsonObject {
  const call = requireObject(value, path);
  return { ...call, id: toCallId(requireString(call, "id", path)) };
}

function toCallId(id: string): string {
  return id.length <= MAX_CALL_ID_LENGTH ? id : sha256(id).slice(0, MAX_CALL_ID_LENGTH);
}

/** Many servers accept only strings where OpenAI also accepts text parts. */
function joinTexts(parts: JsonObject[], separator: string): string | JsonObject[] {
  const texts: string[] = [];
  for (const { type, text } of parts) {
    if (type !== "text" || typeof text !== "string") return parts;
    texts.push(text);
  }
  return texts.join(separator);
}

function toUserContent(parts: JsonObject[]): string | JsonObject[] {
  return parts.length === 1 ? joinTexts(parts, "") : parts;
}

function encodeParts(parts: readonly unknown[], path: string, report: TranslationReport): JsonObject[] {
  return parts.map((value, index) => {
    const partPath = `${path}[${index}]`;
    const part = requireObject(value, partPath);
    const { cache_control, ...rest } = part;
    if (cache_control !== undefined) report.drop("cache_control");
    return part["type"] === "file" ? encodeFile(rest, partPath) : rest;
  });
}

/** Chat endpoints read PDF files. Texts become part of the message. */
function encodeFile(part: JsonObject, path: string): JsonObject {
  const file = requireObject(part["file"], `${path}.file`);
  if (file["file_url"] !== undefined) {
    throw new TranslationError(
      `${path}.file.file_url`,
      "The target's chat format has no documents with a URL. Send the content of the document.",
    );
  }
  const data = readString(file, "file_data", `${path}.file`) ?? "";
  const comma = data.indexOf(",");
  if (comma === -1 || comma > 256 || !TEXT_FILE_PREFIX.test(data.slice(0, comma))) return part;
  const text = Buffer.from(data.slice(comma + 1), "base64").toString();
  const name = readString(file, "filename", `${path}.file`);
  return { type: "text", text: name === undefined ? text : `${name}\n\n${text}` };
}

/** Adds images and files of the result to `media`. Chat has no field for errors, so the text says it. */
function encodeResult(
  message: JsonObject,
  path: string,
  media: JsonObject[],
  report: TranslationReport,
): JsonObject {
  const { content = "" } = message;
  if (message["cache_control"] !== undefined) report.drop("cache_control");
  let text = typeof content === "string" ? content : "";
  if (Array.isArray(content)) {
    const texts: string[] = [];
    const count = media.length;
    for (const part of encodeParts(content, `${path}.content`, report)) {
      if (part["type"] === "text") texts.push(requireString(part, "text", `${path}.content`));
      else media.push(part);
    }
    if (media.length > count) texts.push(SEE_NEXT);
    text = texts.join("\n\n");
  }
  if (message["is_error"] === true && !/^\W*error/i.test(text)) text = `Error: ${text}`;
  return {
    role: "tool",
    tool_call_id: toCallId(requireString(message, "tool_call_id", path)),
    content: text,
  };
}
