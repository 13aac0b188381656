// Reads the messages of the provider in OpenAI's Realtime API: large ones in a worker thread, others on the event loop.
import { countOutput, hasOutput, type CountedOutput } from "./realtime-estimate.ts";
import { readRealtimeEvent, type RealtimeEvent } from "./realtime-events.ts";
import { sessionEventIn, type SessionEvent } from "./realtime-session.ts";
import { transcriptionEventIn, type TranscriptionEvent } from "./realtime-transcription.ts";

/** Each is null if the message says nothing about it. */
export interface ServerMessage<Output = string | CountedOutput> {
  readonly event: RealtimeEvent | null;
  readonly session: SessionEvent | null;
  readonly transcription: TranscriptionEvent | null;
  /** The message if it has a part of the output of a response, or what was counted in it. */
  readonly output: Output | null;
}

export function readServerMessage(text: string): ServerMessage<string> {
  const event = readRealtimeEvent(text);
  return {
    event,
    session: sessionEventIn(text),
    transcription: transcriptionEventIn(text),
    output: event === null && hasOutput(text) ? text : null,
  };
}

/** Returns what was read without the text of the message. */
export function countedMessage(message: ServerMessage<string>): ServerMessage<CountedOutput> {
  const { output } = message;
  return { ...message, output: output === null ? null : countOutput(output) };
}
