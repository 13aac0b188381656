// The registry entry of OpenAI chat completions, the hub format.
import { HUB_FORMAT } from "../format-names.ts";
import type { Format } from "../format.ts";
import { streamUsageOption } from "./stream-usage-option.ts";
import { openaiUsage } from "./usage.ts";

export const OPENAI: Format = {
  name: HUB_FORMAT,
  chatPath: "/v1/chat/completions",
  isChatPath: (path) => path.endsWith("/chat/completions"),
  requiredHeaders: [],
  translator: null,
  usage: openaiUsage,
  streamUsageOption,
};
