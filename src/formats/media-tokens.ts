// Estimates the tokens of images, audio, documents and video in a request. Each counts a constant, which is
// usual. It may have more, which only its provider knows: at most about as many as its bytes allow.
import { isJsonObject, type JsonObject } from "../base/json.ts";

/** An image of about 1024 × 1024 pixels: 765 tokens at OpenAI, 1,398 at Anthropic, 258 to 1,032 at Gemini. */
const IMAGE_TOKENS = 800;
/** OpenAI's fixed price of an image with low detail. */
const LOW_DETAIL_IMAGE_TOKENS = 85;
/** One minute at OpenAI's 10 tokens per second. */
const AUDIO_TOKENS = 600;
/** A PDF file of one or two pages: Anthropic documents 1,500 to 3,000 tokens per page. Also for video. */
const DOCUMENT_TOKENS = 3000;
/** A call of OpenAI's image tool, whose `result` is an image in base64. */
export const IMAGE_CALL = "image_generation_call";

/** Of content of which only the provider knows the size. More than any model accepts. */
export const UNKNOWN_TOKENS = 100_000_000;
/** Bytes of a document per token: no text has fewer, and pages without pictures have about as many. */
const DOCUMENT_BYTES_PER_TOKEN = 4;
/** Gemini counts 32 tokens per second of audio, which has 3,000 bytes at 24 kbit/s. Video has more bytes per token. */
const AUDIO_BYTES_PER_TOKEN = 100;
const BYTES_PER_BASE64_CHARACTER = 3 / 4;
const TOKENS_PER_BASE64_CHARACTER = BYTES_PER_BASE64_CHARACTER / DOCUMENT_BYTES_PER_TOKEN;

const TOKENS_BY_PART_TYPE = new Map([
  ["image", IMAGE_TOKENS],
  ["image_url", IMAGE_TOKENS],
  ["input_image", IMAGE_TOKENS],
  ["computer_screenshot", IMAGE_TOKENS],
  [IMAGE_CALL, IMAGE_TOKENS],
  ["input_audio", AUDIO_TOKENS],
  ["video_url", DOCUMENT_TOKENS],
  ["file", DOCUMENT_TOKENS],
  ["input_file", DOCUMENT_TOKENS],
  ["document", DOCUMENT_TOKENS],
]);
/** Formats of images in Bedrock's API. */
const IMAGE_FORMATS: ReadonlySet<unknown> = new Set(["png", "jpeg", "gif", "webp"]);
/** Where a source in the formats of Anthropic and Bedrock refers to. */
const REFERENCES = ["url", "file_id", "s3Location", "s3_location"];
const URL_START = /^(?!data:)[a-z][a-z0-9+.-]{0,30}:/i;

/** Estimated tokens of the media in a request. */
export class MediaTokens {
  /** Constants, audio included. */
  usual = 0;
  /** The part of `usual` that is audio. */
  audio = 0;
  /** How much the request may have in addition. */
  further = 0;

  /** Adds the binary content of a part of a conversation. */
  addPart(part: JsonObject): void {
    const { type, source, image_url: image } = part;
    if (typeof type !== "string") return;
    const tokens = TOKENS_BY_PART_TYPE.get(type);
    if (tokens === undefined) return;
    if (tokens === IMAGE_TOKENS) {
      const detail = isJsonObject(image) ? image["detail"] : part["detail"];
      this.usual += detail === "low" ? LOW_DETAIL_IMAGE_TOKENS : IMAGE_TOKENS;
    } else if (!isJsonObject(source) || !isTextSource(source)) this.usual += tokens;
    if (tokens === AUDIO_TOKENS) this.audio += tokens;
    this.further += furtherTokensOf(type, part);
  }

  /** Adds the source of a part in the formats of Anthropic and Bedrock. */
  addSource(source: JsonObject, { type, format }: JsonObject): void {
    if (type === "image" || IMAGE_FORMATS.has(format)) return;
    const data = source["data"] ?? source["bytes"];
    if (typeof data === "string") this.further += base64Tokens(data);
    else if (REFERENCES.some((name) => name in source)) this.further += UNKNOWN_TOKENS;
  }

  /** Adds Gemini's inline data or file, by its media type. */
  addGemini(media: JsonObject): void {
    const mediaType = media["mimeType"] ?? media["mime_type"];
    const type = typeof mediaType === "string" ? mediaType.replace(/\/.*/s, "").toLowerCase() : "";
    const { data } = media;
    if (type === "image") this.usual += IMAGE_TOKENS;
    else if (type === "text" && typeof data === "string") this.usual += base64Tokens(data);
    else {
      const isAudio = type === "audio";
      this.usual += isAudio ? AUDIO_TOKENS : DOCUMENT_TOKENS;
      if (isAudio) this.audio += AUDIO_TOKENS;
      this.further += isAudio || type === "video" ? recordingTokens(data) : documentTokens(data);
    }
  }
}

/** Whether a source of Anthropic's format consists of text or parts, which are counted as such. */
export function isTextSource({ type }: JsonObject): boolean {
  return type === "text" || type === "content";
}

/** Returns the tokens of a text in base64. */
export function base64Tokens(data: string): number {
  return TOKENS_PER_BASE64_CHARACTER * data.length;
}

function furtherTokensOf(type: string, part: JsonObject): number {
  switch (type) {
    case "input_audio": {
      const audio = part["input_audio"];
      return recordingTokens(isJsonObject(audio) ? audio["data"] : undefined);
    }
    case "video_url": {
      const video = part["video_url"];
      return recordingTokens(isJsonObject(video) ? video["url"] : video);
    }
    case "file":
      return isJsonObject(part["file"]) ? documentTokens(part["file"]["file_data"]) : 0;
    case "input_file":
      return documentTokens(part["file_data"]);
    default:
      return 0;
  }
}

/** `data` is base64, or a URL with it. Otherwise the document is stored, or read at its URL. */
function documentTokens(data: unknown): number {
  return isInline(data) ? base64Tokens(data) : UNKNOWN_TOKENS;
}

/** As `documentTokens`, for audio and video. */
function recordingTokens(data: unknown): number {
  if (!isInline(data)) return UNKNOWN_TOKENS;
  return (data.length * BYTES_PER_BASE64_CHARACTER) / AUDIO_BYTES_PER_TOKEN;
}

function isInline(data: unknown): data is string {
  return typeof data === "string" && !URL_START.test(data);
}
