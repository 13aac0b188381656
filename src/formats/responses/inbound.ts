// Requests of Responses clients and the responses to them.
import type { JsonObject } from "../../base/json.ts";
import type { InboundTranslator, ResponseContext } from "../translator.ts";
import { clientToolsIn } from "./client-tools.ts";
import { decodeRequest } from "./decode-request.ts";
import { encodeResponse } from "./encode-response.ts";
import { ResponseStreamEncoder } from "./encode-stream.ts";
import { withoutForeignReasoning } from "./foreign-reasoning.ts";
import { refersToItems } from "./item-copies.ts";
import { repeatedFields } from "./response-object.ts";

export const responsesInbound: InboundTranslator = {
  decodeRequest,
  fieldNames: new Map([
    ["max_tokens", "max_output_tokens"],
    ["messages", "input"],
    ["reasoning_effort", "reasoning.effort"],
    ["response_format", "text.format"],
  ]),
  contextOf,
  withoutForeignReasoning,
  encodeResponse,
  // Errors of the Responses API have the same form.
  encodeError: (body) => body,
  encodeStream: (context) => new ResponseStreamEncoder(context),
  refersToItems,
};

/** Streams repeat the fields in three events. Requests that are not large have less. */
const MAX_REPEATED_LENGTH = 256 * 1024;

function contextOf(body: JsonObject, isLarge = false): ResponseContext {
  const { model } = body;
  return {
    model: typeof model === "string" ? model : null,
    includeUsage: true,
    mayCopyItems: body["store"] !== false,
    customTools: [],
    clientTools: clientToolsIn(body),
    repeatedFields: repeatedFields(body, isLarge ? MAX_REPEATED_LENGTH : Infinity),
  };
}
