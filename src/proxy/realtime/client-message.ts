// Reads a message of a client, and prepares it for the provider.
import { randomUUID } from "node:crypto";
import { clientEventIn, withEventId, type ClientEvent } from "../../formats/openai/realtime-requests.ts";
import type { SentMessage } from "../../http/websocket/messages.ts";

export interface ClientMessage<Event = ClientEvent, Sent = SentMessage> {
  /** "invalid" if servers could read it differently; null if it is no event. */
  readonly event: Event | "invalid" | null;
  /** As the provider gets it. */
  readonly sent: Sent;
  /** The id that an event which asks for a response has at the provider; null for other messages. */
  readonly sentEventId: string | null;
}

export function readClientMessage(
  message: string | Uint8Array,
): ClientMessage<ClientEvent<string>, string | Uint8Array> {
  const event = clientEventIn(message);
  const isRequest = event !== null && event !== "invalid" && event.request !== null;
  if (!isRequest) return { event, sent: message, sentEventId: null };
  const sentEventId = newEventId();
  return { event, sent: withEventId(message, sentEventId), sentEventId };
}

/** Unguessable: it occurs in no other message. */
export function newEventId(): string {
  return `event_${randomUUID()}`;
}
