// The registry entry of OpenAI's Responses API.
import { isFilteredResponse } from "../openai/filtered.ts";
import type { Format } from "../format.ts";
import { openaiContent, openaiOpening } from "../openai/content.ts";
import { openaiDetails } from "../openai/details.ts";
import { encodeError } from "../openai/encode-error.ts";
import { openaiModels } from "../openai/model-list.ts";
import { openaiUsage } from "../openai/usage.ts";
import { responsesInbound } from "./inbound.ts";
import { responsesOutbound } from "./outbound.ts";
import { responsesTexts } from "./texts.ts";

/** Operations that take the input of a response, but do not create one. */
const OTHER_INPUT_PATH = /\/responses\/(?:input_tokens|compact)$/;
const PATH = /\/responses(?:\/|$)/;

export const RESPONSES: Format = {
  name: "responses",
  chatTail: "/responses",
  completePath: null,
  isChatPath: (path) => path.endsWith("/responses"),
  isOtherMessagesPath: (path) => OTHER_INPUT_PATH.test(path),
  isFromClient: (path) => PATH.test(path),
  requiredHeaders: [],
  ownHeaderPrefix: "openai-",
  inbound: responsesInbound,
  outbound: responsesOutbound,
  encodeError,
  models: openaiModels,
  usage: openaiUsage,
  details: openaiDetails,
  content: openaiContent,
  texts: responsesTexts,
  openingOf: openaiOpening,
  isFiltered: isFilteredResponse,
  // The last event of a stream always reports usage.
  storesByDefault: true,
  streamUsageOption: null,
};
