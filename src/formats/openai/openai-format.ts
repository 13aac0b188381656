// The registry entry of OpenAI chat completions, the hub format.
import { isFilteredChat } from "./filtered.ts";
import { HUB_FORMAT } from "../format-names.ts";
import type { Format } from "../format.ts";
import { openaiContent, openaiOpening } from "./content.ts";
import { encodeError } from "./encode-error.ts";
import { openaiDetails } from "./details.ts";
import { openaiInbound } from "./inbound.ts";
import { openaiModels } from "./model-list.ts";
import { openaiOutbound } from "./outbound.ts";
import { streamUsageOption } from "./stream-usage-option.ts";
import { openaiUsage } from "./usage.ts";
import { openaiTexts } from "./texts.ts";

export const OPENAI: Format = {
  name: HUB_FORMAT,
  chatTail: "/chat/completions",
  completePath: null,
  isChatPath: (path) => path.endsWith("/chat/completions"),
  isOtherMessagesPath: () => false,
  // The format of all clients that no other format recognizes.
  isFromClient: () => false,
  requiredHeaders: [],
  ownHeaderPrefix: "openai-",
  inbound: openaiInbound,
  outbound: openaiOutbound,
  encodeError,
  models: openaiModels,
  usage: openaiUsage,
  details: openaiDetails,
  content: openaiContent,
  texts: openaiTexts,
  openingOf: openaiOpening,
  isFiltered: isFilteredChat,
  storesByDefault: false,
  streamUsageOption,
};
