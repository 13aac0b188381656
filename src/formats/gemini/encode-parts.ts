// Translates the content of one OpenAI chat message, a string or parts, to Gemini parts: text, images, files, audio.
import type { JsonObject } from "../../base/json.ts";
import { parseDataUrl, parseImageUrl, type DataUrl } from "../data-url.ts";
import { readString, requireObject, requireString } from "../read-fields.ts";
import { TranslationError } from "../translation-error.ts";
import type { TranslationReport } from "../translation-report.ts";
import type { GeminiPart } from "./wire-types.ts";

/** Media types of URLs, by extension. Gemini finds out the type of others itself. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  gif: "image/gif",
  heic: "image/heic",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  pdf: "application/pdf",
  png: "image/png",
  txt: "text/plain",
  webp: "image/webp",
};
const AUDIO_TYPES: Readonly<Record<string, string>> = { mp3: "audio/mp3", wav: "audio/wav" };

/** Returns the parts of a user message or tool result. Empty texts are left out because Gemini rejects empty parts. */
export function encodeParts(content: unknown, path: string, report: TranslationReport): GeminiPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ text: content }];
  const parts: GeminiPart[] = [];
  for (const [part, partPath] of readParts(content, path, report)) {
    const encoded = encodePart(part, partPath, report);
    if (encoded.text !== "") parts.push(encoded);
  }
  return parts;
}

/** Returns the texts of a system, developer, or assistant message, whose content may only be text. */
export function encodeTexts(content: unknown, path: string, report: TranslationReport): string[] {
  if (typeof content === "string") return content === "" ? [] : [content];
  const texts: string[] = [];
  for (const [part, partPath] of readParts(content, path, report)) {
    const field = part["type"] === "refusal" ? "refusal" : "text";
    if (part["type"] !== field) throw unknownPart(part, partPath, "text");
    const text = requireString(part, field, partPath);
    if (text !== "") texts.push(text);
  }
  return texts;
}

function readParts(content: unknown, path: string, report: TranslationReport): [JsonObject, string][] {
  if (!Array.isArray(content)) {
    throw new TranslationError(path, `${path} must be a string or an array of parts.`);
  }
  return content.map((value: unknown, index) => {
    const partPath = `${path}[${index}]`;
    const part = requireObject(value, partPath);
    // Gemini caches automatically.
    report.dropPresent(part, ["cache_control"]);
    return [part, partPath];
  });
}

function encodePart(part: JsonObject, path: string, report: TranslationReport): GeminiPart {
  switch (part["type"]) {
    case "text":
      return { text: requireString(part, "text", path) };
    case "image_url":
      return encodeImage(requireObject(part["image_url"], `${path}.image_url`), `${path}.image_url`, report);
    case "file":
      return encodeFile(requireObject(part["file"], `${path}.file`), `${path}.file`, report);
    case "input_audio":
      return encodeAudio(requireObject(part["input_audio"], `${path}.input_audio`), `${path}.input_audio`);
    default:
      throw unknownPart(part, path, "text, image_url, file, or input_audio");
  }
}

function encodeImage(image: JsonObject, path: string, report: TranslationReport): GeminiPart {
  const url = requireString(image, "url", path);
  if ((image["detail"] ?? "auto") !== "auto") report.drop("detail");
  if (isHttpUrl(url)) return encodeUrl(url);
  const parsed = parseImageUrl(url);
  if (parsed === null) {
    throw new TranslationError(
      `${path}.url`,
      `${path}.url must be an http(s) URL or a base64 data URL of an image ("data:image/png;base64,…").`,
    );
  }
  return inlinePart(parsed);
}

function encodeFile(file: JsonObject, path: string, report: TranslationReport): GeminiPart {
  report.dropPresent(file, ["filename"]);
  const url = readString(file, "file_url", path);
  if (url !== undefined && isHttpUrl(url)) return encodeUrl(url);
  const parsed = parseDataUrl(readString(file, "file_data", path) ?? "");
  if (parsed === null) {
    throw new TranslationError(
      path,
      `${path} must contain a base64 data URL in file_data ("data:application/pdf;base64,…") or an http(s) URL in file_url. Gemini cannot read OpenAI file ids.`,
    );
  }
  return inlinePart(parsed);
}

function encodeAudio(audio: JsonObject, path: string): GeminiPart {
  const format = requireString(audio, "format", path);
  const mimeType = AUDIO_TYPES[format];
  if (mimeType === undefined) {
    throw new TranslationError(`${path}.format`, `${path}.format must be "wav" or "mp3".`);
  }
  return { inlineData: { mimeType, data: requireString(audio, "data", path) } };
}

function isHttpUrl(url: string): boolean {
  return /^https?:\/\//i.test(url);
}

function encodeUrl(fileUri: string): GeminiPart {
  const extension = /\.([a-z]{3,4})(?:[?#]|$)/i.exec(fileUri)?.[1]?.toLowerCase() ?? "";
  const mimeType = MEDIA_TYPES[extension];
  return { fileData: mimeType === undefined ? { fileUri } : { fileUri, mimeType } };
}

function inlinePart({ mediaType, data }: DataUrl): GeminiPart {
  return { inlineData: { mimeType: mediaType, data } };
}

function unknownPart(part: JsonObject, path: string, known: string): TranslationError {
  const type =
    typeof part["type"] === "string" ? `of type ${JSON.stringify(part["type"])}` : "without a type";
  return new TranslationError(path, `A part ${type} cannot be translated for Gemini here. Use ${known}.`);
}
