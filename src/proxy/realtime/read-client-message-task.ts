// Reads a large message of a client in a worker thread, and encodes the frame for the provider.
import { countEvent } from "../../formats/openai/realtime-estimate.ts";
import type { ClientEvent, CountedText } from "../../formats/openai/realtime-requests.ts";
import { encodeFrame, OPCODE } from "../../http/websocket/frames.ts";
import { readClientMessage, type ClientMessage } from "./client-message.ts";
import { decodeMessage, toFrameBytes, type FrameBytes, type MessageBytes } from "./message-bytes.ts";
import { modelsIn } from "./message-models.ts";

/** No client needs as many models in a message. */
const MAX_MODELS = 1000;

/** The different models that a message names. */
export type NamedModels = readonly string[] | "too_many";

interface Output extends Omit<ClientMessage<ClientEvent<CountedText>>, "sent">, FrameBytes {
  readonly models: NamedModels;
}

export function run(given: MessageBytes): Output {
  const message = decodeMessage(given);
  const { event, sent, sentEventId } = readClientMessage(message);
  const frame = encodeFrame(
    given.isText ? OPCODE.text : OPCODE.binary,
    sent === message ? given.bytes : sent,
    "client",
  );
  const isEvent = event !== null && event !== "invalid";
  return {
    event: isEvent ? { ...event, text: countEvent(event) } : event,
    sentEventId,
    models: namedModels(message),
    ...toFrameBytes(frame),
  };
}

function namedModels(message: string | Uint8Array): NamedModels {
  const models = new Set<string>();
  for (const model of modelsIn(message)) if (models.add(model).size > MAX_MODELS) return "too_many";
  return [...models];
}
