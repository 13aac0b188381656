// The registry entry of Gemini's generateContent. Its own clients are passed through to Gemini targets only.
import { isFilteredContent } from "./filtered.ts";
import type { Format } from "../format.ts";
import { geminiContent, geminiOpening } from "./content.ts";
import { decodeError, retryAfterOf } from "./decode-error.ts";
import { decodeResponse } from "./decode-response.ts";
import { GeminiStreamDecoder } from "./decode-stream.ts";
import { geminiDetails } from "./details.ts";
import { encodeError } from "./encode-error.ts";
import { encodeRequest } from "./encode-request.ts";
import { geminiModels } from "./model-list.ts";
import { CHAT_TAIL, completePath, isChatPath, isOtherMethodPath } from "./paths.ts";
import { geminiUsage } from "./usage.ts";
import { geminiTexts } from "./texts.ts";

export const GEMINI: Format = {
  name: "gemini",
  chatTail: CHAT_TAIL,
  completePath,
  isChatPath,
  isOtherMessagesPath: isOtherMethodPath,
  // Google's clients send the second header with every request.
  isFromClient: (path, headers) =>
    isOtherMethodPath(path) || headers.has("x-goog-api-key") || headers.has("x-goog-api-client"),
  requiredHeaders: [],
  ownHeaderPrefix: "x-goog-",
  inbound: null,
  outbound: {
    isRequest: (body) => Array.isArray(body["contents"]) && !Array.isArray(body["messages"]),
    dependsOnTarget: false,
    encodeRequest,
    decodeResponse,
    decodeError,
    retryAfterOf,
    decodeStream: (options, sink) => new GeminiStreamDecoder(options, sink),
  },
  encodeError,
  models: geminiModels,
  usage: geminiUsage,
  details: geminiDetails,
  content: geminiContent,
  texts: geminiTexts,
  openingOf: geminiOpening,
  isFiltered: isFilteredContent,
  storesByDefault: false,
  streamUsageOption: null,
};
