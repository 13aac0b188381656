// Estimates the input tokens of a text or of a request body in any format: OpenAI chat completions and responses, Anthropic
// messages, Gemini. The estimate does not depend on the format, because their fields have different names or mean the same.
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { base64Tokens, IMAGE_CALL, isTextSource, MediaTokens, UNKNOWN_TOKENS } from "./media-tokens.ts";
import type { Endpoint } from "./operations.ts";
import { UNITS_PER_TOKEN } from "./text-automaton.ts";
import { unitsOfText } from "./text-tokens.ts";

/** What formats add to every request and message: roles and delimiters. OpenAI documents 3 and 3, and a token for the role. */
const REQUEST_TOKENS = 3;
export const MESSAGE_TOKENS = 4;
/** The instructions that Anthropic adds for tools; it documents 313 to 346 tokens for current models. */
const ANTHROPIC_TOOLS_TOKENS = 340;
/** The quotes, colon and comma of a field, and the comma and brackets of an array's item. */
const JSON_FIELD_TOKENS = 2;
const JSON_ITEM_TOKENS = 1;

/** Top-level fields that hold conversations: their strings count, the names of their fields do not. */
const CONVERSATIONS: readonly string[] = [
  "messages",
  "input",
  "contents",
  "system",
  "instructions",
  "systemInstruction",
  "system_instruction",
  "prompt",
  "suffix",
  "query",
  "documents",
  // Gemini's embedContent and batchEmbedContents
  "content",
  "requests",
];
/** Top-level fields that models read as JSON, the names of fields included: tools and schemas of the output. */
const JSON_FIELDS: readonly string[] = [
  "tools",
  "functions",
  "response_format",
  "text",
  "output_format",
  "output_config",
];
/** Top-level fields that name conversations which the provider has stored: these are part of the input. */
const STORED_CONVERSATIONS: readonly string[] = [
  "previous_response_id",
  "conversation",
  "cachedContent",
  "cached_content",
];
/** The top-level fields that the estimate of a request depends on. */
export const ESTIMATED_FIELDS: readonly string[] = [
  ...CONVERSATIONS,
  ...JSON_FIELDS,
  ...STORED_CONVERSATIONS,
  "generationConfig",
];
/** Fields inside `generationConfig` of Gemini that are read as JSON. */
const GEMINI_SCHEMAS: readonly string[] = ["responseSchema", "responseJsonSchema", "response_schema"];

/** Fields of a conversation that a model does not read as text. */
const UNREAD = new Set([
  ...["type", "role", "id", "status", "index", "cache_control", "detail", "annotations", "logprobs"],
  ...["call_id", "tool_call_id", "tool_use_id", "signature", "thoughtSignature", "thought_signature"],
  ...["mime_type", "mimeType", "media_type", "url"],
  // Their tokens are counted per part, by its type.
  ...["image_url", "input_audio", "audio", "video_url", "file_data", "file_url", "file_id"],
]);
/** Fields of a conversation whose value is JSON to the model: arguments and results of tools. */
const JSON_IN_CONVERSATION = new Set(["input", "args", "arguments", "response", "action"]);
/** Fields with text that only the provider can read, as reasoning or search results. */
const ENCRYPTED = new Set(["encrypted_content", "data"]);
const GEMINI_MEDIA = new Set(["inlineData", "inline_data", "fileData", "file_data"]);

/** The input of a request, as far as the request shows it. */
export interface InputEstimate {
  readonly inputTokens: number;
  /** The part of `inputTokens` that is audio. */
  readonly audioTokens: number;
  /**
   * Tokens that the request may have in addition, at most: media by their bytes, and media and conversations
   * that the provider has stored.
   */
  readonly fileTokens: number;
}

export function estimateTokens(text: string): number {
  return Math.ceil(unitsOfText(text) / UNITS_PER_TOKEN);
}

/**
 * Returns the estimated input tokens of a request. Binary content counts a constant per image, audio or document, whatever its size.
 * The work is linear in the size of the body and does not recurse. `countedUnits` are those of texts that were left out of `body`.
 */
export function estimateRequestTokens(body: JsonObject, countedUnits = 0): number {
  return estimateInput(body, countedUnits).inputTokens;
}

/** As `estimateRequestTokens`, with what the constants do not cover. */
export function estimateInput(body: JsonObject, countedUnits = 0): InputEstimate {
  const walk = new RequestWalk();
  for (const name of CONVERSATIONS) walk.addConversation(body[name]);
  for (const name of JSON_FIELDS) walk.addJson(body[name]);
  const { generationConfig, tools } = body;
  if (isJsonObject(generationConfig)) for (const name of GEMINI_SCHEMAS) walk.addJson(generationConfig[name]);
  if (Array.isArray(tools) && tools.some((tool) => isJsonObject(tool) && "input_schema" in tool))
    walk.tokens += ANTHROPIC_TOOLS_TOKENS;
  walk.run();
  const { tokens, textUnits, media } = walk;
  const isStored = STORED_CONVERSATIONS.some((name) => (body[name] ?? null) !== null);
  const further = isStored || refersToItems(body["input"]) ? UNKNOWN_TOKENS : Math.ceil(media.further);
  return {
    inputTokens: Math.ceil(
      REQUEST_TOKENS + tokens + media.usual + (textUnits + countedUnits) / UNITS_PER_TOKEN,
    ),
    audioTokens: media.audio,
    fileTokens: Math.min(further, UNKNOWN_TOKENS),
  };
}

/** Whether the input of the Responses API has items that are stored. Their type may be left out. */
function refersToItems(input: unknown): boolean {
  if (!Array.isArray(input)) return false;
  return input.some((item) => {
    if (!isJsonObject(item) || typeof item["id"] !== "string") return false;
    const { type = null, role } = item;
    return type === "item_reference" || (type === null && role === undefined);
  });
}

/** As `estimateRequestTokens`, for a request without fields that were not counted. */
export function estimateCountedTokens(countedUnits: number): number {
  return Math.ceil(REQUEST_TOKENS + countedUnits / UNITS_PER_TOKEN);
}

/** The response to a request for the number of input tokens, in the format of the endpoint. */
export function tokenCountResponse({ tail }: Endpoint, tokens: number): JsonObject {
  return tail.endsWith("/input_tokens")
    ? { object: "response.input_tokens", input_tokens: tokens }
    : { input_tokens: tokens };
}

/** Adds up the tokens of values. Values that are to be read wait in a list, so that nesting needs no call stack. */
class RequestWalk {
  /** Of everything but texts and media. */
  tokens = 0;
  textUnits = 0;
  readonly media = new MediaTokens();
  readonly #conversation: unknown[] = [];
  readonly #json: unknown[] = [];

  addConversation(value: unknown): void {
    if (value === undefined || value === null) return;
    if (Array.isArray(value)) this.tokens += MESSAGE_TOKENS * value.filter(isJsonObject).length;
    this.#conversation.push(value);
  }

  addJson(value: unknown): void {
    if (value !== undefined && value !== null) this.#json.push(value);
  }

  run(): void {
    while (this.#conversation.length > 0) this.#readConversation(this.#conversation.pop());
    while (this.#json.length > 0) this.#readJson(this.#json.pop());
  }

  #readConversation(value: unknown): void {
    if (typeof value === "string") this.textUnits += unitsOfText(value);
    // Completions and embeddings accept lists of token ids.
    else if (typeof value === "number") this.tokens += 1;
    else if (Array.isArray(value)) for (const item of value) this.#conversation.push(item);
    else if (isJsonObject(value)) this.#readPart(value);
  }

  /** Reads a message, a content part, a tool call or a tool result. */
  #readPart(part: JsonObject): void {
    this.media.addPart(part);
    for (const name in part) {
      const value = part[name];
      if (GEMINI_MEDIA.has(name) && isJsonObject(value)) this.media.addGemini(value);
      else if (name === "source" && isJsonObject(value)) this.#readSource(value, part);
      else if (ENCRYPTED.has(name) && typeof value === "string") this.tokens += base64Tokens(value);
      else if (UNREAD.has(name) || (name === "result" && part["type"] === IMAGE_CALL)) continue;
      else if (JSON_IN_CONVERSATION.has(name) && typeof value === "object") this.addJson(value);
      else if (typeof value === "string" || typeof value === "object") this.#conversation.push(value);
    }
  }

  /** Reads the source of an image or document in Anthropic's format: text, content parts, or binary content. */
  #readSource(source: JsonObject, part: JsonObject): void {
    if (typeof source["data"] === "string" && isTextSource(source))
      this.textUnits += unitsOfText(source["data"]);
    else if (source["type"] === "content") this.#conversation.push(source["content"]);
    else this.media.addSource(source, part);
  }

  #readJson(value: unknown): void {
    if (typeof value === "string") this.textUnits += unitsOfText(value);
    else if (Array.isArray(value)) {
      this.tokens += JSON_ITEM_TOKENS * (value.length + 1);
      for (const item of value) this.#json.push(item);
    } else if (isJsonObject(value)) {
      for (const name in value) {
        this.textUnits += unitsOfText(name);
        this.tokens += JSON_FIELD_TOKENS;
        this.#json.push(value[name]);
      }
    } else if (typeof value === "number") this.textUnits += unitsOfText(String(value));
    else this.tokens += 1;
  }
}
