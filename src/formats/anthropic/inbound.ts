// Requests of clients with Anthropic's messages format, and the responses to them.
import type { JsonObject } from "../../base/json.ts";
import type { InboundTranslator, ResponseContext } from "../translator.ts";
import { decodeRequest } from "./decode-request.ts";
import { encodeProviderError } from "./encode-error.ts";
import { encodeResponse } from "./encode-response.ts";
import { MessageStreamEncoder } from "./encode-stream.ts";
import { withoutForeignReasoning } from "./foreign-reasoning.ts";
import { renamedToolsIn } from "./tool-names.ts";

export const anthropicInbound: InboundTranslator = {
  decodeRequest,
  fieldNames: new Map([
    ["reasoning_effort", "thinking"],
    ["response_format", "output_config.format"],
    ["stop", "stop_sequences"],
    ["user", "metadata.user_id"],
  ]),
  contextOf,
  withoutForeignReasoning,
  encodeResponse,
  encodeError: encodeProviderError,
  encodeStream: (context) => new MessageStreamEncoder(context),
};

/** All messages report their usage, and the input of all tools is JSON. */
function contextOf({ model, tools }: JsonObject): ResponseContext {
  return {
    model: typeof model === "string" ? model : null,
    includeUsage: true,
    customTools: [],
    renamedTools: renamedToolsIn(tools),
    repeatedFields: null,
  };
}
