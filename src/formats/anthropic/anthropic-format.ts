// The registry entry of Anthropic messages.
import { isFilteredMessage } from "./filtered.ts";
import type { Format } from "../format.ts";
import { anthropicContent, anthropicOpening } from "./content.ts";
import { decodeError, decodeResponse } from "./decode-response.ts";
import { anthropicDetails } from "./details.ts";
import { MessageStreamDecoder } from "./decode-stream.ts";
import { encodeError } from "./encode-error.ts";
import { encodeRequest } from "./encode-request.ts";
import { anthropicInbound } from "./inbound.ts";
import { anthropicModels } from "./model-list.ts";
import { isAnthropicRequest } from "./recognize-request.ts";
import { anthropicUsage } from "./usage.ts";
import { anthropicTexts } from "./texts.ts";

/** Operations on messages other than the chat endpoint. */
const OTHER_MESSAGES_PATH = /\/messages\/(?:count_tokens|batches(?:\/[^/]+){0,2})$/;

export const ANTHROPIC: Format = {
  name: "anthropic",
  chatTail: "/messages",
  completePath: null,
  isChatPath: (path) => path.endsWith("/messages"),
  isOtherMessagesPath: (path) => OTHER_MESSAGES_PATH.test(path),
  // Anthropic's clients send the version with every request.
  isFromClient: (path, headers) => OTHER_MESSAGES_PATH.test(path) || headers.has("anthropic-version"),
  // Anthropic rejects requests without an API version. This version has been the only one since 2023.
  requiredHeaders: [["anthropic-version", "2023-06-01"]],
  ownHeaderPrefix: "anthropic-",
  inbound: anthropicInbound,
  outbound: {
    isRequest: isAnthropicRequest,
    dependsOnTarget: false,
    encodeRequest,
    decodeResponse,
    decodeError,
    decodeStream: (options, sink) => new MessageStreamDecoder(options, sink),
  },
  encodeError,
  models: anthropicModels,
  usage: anthropicUsage,
  details: anthropicDetails,
  content: anthropicContent,
  texts: anthropicTexts,
  openingOf: anthropicOpening,
  isFiltered: isFilteredMessage,
  storesByDefault: false,
  streamUsageOption: null,
};
