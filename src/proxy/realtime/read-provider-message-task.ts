// Reads a large message of a provider in a worker thread, and encodes the frame for the client.
import type { CountedOutput } from "../../formats/openai/realtime-estimate.ts";
import { eventTextOf } from "../../formats/openai/realtime-requests.ts";
import {
  countedMessage,
  readServerMessage,
  type ServerMessage,
} from "../../formats/openai/realtime-server-messages.ts";
import { encodeFrame, OPCODE } from "../../http/websocket/frames.ts";
import { withClientIds, type EventIds } from "./asked-turns.ts";
import { decodeMessage, toFrameBytes, type FrameBytes, type MessageBytes } from "./message-bytes.ts";

interface Input extends MessageBytes {
  readonly ids: readonly EventIds[];
}

interface Output extends FrameBytes {
  readonly message: ServerMessage<CountedOutput>;
}

export function run({ ids, ...given }: Input): Output {
  const received = decodeMessage(given);
  const sent = withClientIds(received, ids);
  const frame = encodeFrame(
    given.isText ? OPCODE.text : OPCODE.binary,
    sent === received ? given.bytes : sent,
    "server",
  );
  const message = countedMessage(readServerMessage(eventTextOf(received)));
  return { message, ...toFrameBytes(frame) };
}
