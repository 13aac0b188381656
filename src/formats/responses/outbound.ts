// Requests to Responses targets and the responses of them.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { decodeError } from "../openai/decode-response.ts";
import type { OutboundTranslator } from "../translator.ts";
import { decodeResponse } from "./decode-response.ts";
import { ResponseStreamDecoder } from "./decode-stream.ts";
import { hasSummary, withoutSummary } from "./encode-reasoning.ts";
import { encodeRequest } from "./encode-request.ts";

export const responsesOutbound: OutboundTranslator = {
  isRequest,
  // Encrypted reasoning goes back only to the target that created it.
  dependsOnTarget: true,
  encodeRequest,
  summary: { field: "reasoning.summary", isIn: hasSummary, remove: withoutSummary },
  decodeResponse,
  // Errors of the Responses API have the form of chat completions.
  decodeError,
  decodeStream: (options, sink) => new ResponseStreamDecoder(options, sink),
};

/** Chat completions have `messages` instead. */
function isRequest({ input, messages, prompt, previous_response_id }: JsonObject): boolean {
  if ((messages ?? null) !== null) return false;
  return (
    typeof input === "string" ||
    Array.isArray(input) ||
    isJsonObject(prompt) ||
    typeof previous_response_id === "string"
  );
}
