// Requests to chat targets and the responses of them.
import type { OutboundTranslator } from "../translator.ts";
import { decodeError, decodeResponse } from "./decode-response.ts";
import { ChatStreamDecoder } from "./decode-stream.ts";
import { encodeRequest } from "./encode-request.ts";

export const openaiOutbound: OutboundTranslator = {
  isRequest: () => true,
  dependsOnTarget: false,
  encodeRequest,
  decodeResponse,
  decodeError,
  decodeStream: (options, sink) => new ChatStreamDecoder(options, sink),
};
