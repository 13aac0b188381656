// Reads the messages of a provider: large ones in a worker thread, while later ones wait.
import { eventTextOf } from "../../formats/openai/realtime-requests.ts";
import { readServerMessage, type ServerMessage } from "../../formats/openai/realtime-server-messages.ts";
import {
  LargeMessage,
  type MessageLimits,
  type ReceivedMessage,
  type SentMessage,
} from "../../http/websocket/messages.ts";
import { LARGE_BODY_BYTES } from "../../off-loop/large-body.ts";
import { withClientIds, type EventIds } from "./asked-turns.ts";
import type { LargeMessages } from "./large-messages.ts";

/** The number of values does not count, as in those of clients: few messages of a provider are parsed. */
export const PROVIDER_LIMITS: MessageLimits = {
  maxBytes: 32 * 1024 * 1024,
  isLarge: ({ byteLength }) => byteLength > LARGE_BODY_BYTES,
};

interface ProviderMessageEvents {
  /** `sent` is the message as the client gets it. */
  relay(sent: SentMessage, message: ServerMessage): void;
  /** The large message is relayed: the provider may be read again. */
  onRelayed(): void;
  onHandlerError(error: unknown): void;
}

export class ProviderMessages {
  readonly #large: LargeMessages;
  readonly #events: ProviderMessageEvents;
  #isReading = false;

  constructor(large: LargeMessages, events: ProviderMessageEvents) {
    this.#large = large;
    this.#events = events;
  }

  /** Whether a large message is being read. The provider must not be read meanwhile. */
  get isReading(): boolean {
    return this.#isReading;
  }

  /** `ids` are those that the message may have. */
  add(received: ReceivedMessage, ids: readonly EventIds[]): void {
    if (received instanceof LargeMessage) void this.#readLarge(received, ids);
    else this.#events.relay(withClientIds(received, ids), readServerMessage(eventTextOf(received)));
  }

  async #readLarge(received: LargeMessage, ids: readonly EventIds[]): Promise<void> {
    this.#isReading = true;
    try {
      const { sent, message } = await this.#large.fromProvider(received, ids);
      this.#events.relay(sent, message);
    } catch (error) {
      this.#events.onHandlerError(error);
    }
    this.#isReading = false;
    this.#events.onRelayed();
  }
}
