// The connection of the gateway to an isolate, whatever the isolate is.
import type { Packet } from "./messages.ts";

export interface ChannelEvents {
  readonly onPacket: (packet: Packet) => void;
  /** Called once, with the reason, unless `end` was called before. */
  readonly onEnd: (reason: string) => void;
}

export interface Channel {
  send(packet: Packet): void;
  /** Sends the reply to a question that blocks the isolate. */
  sendReply(packet: Packet): void;
  /** Ends the isolate at once, even in the middle of a hook. */
  end(): void;
  /** Returns the memory in use in bytes; null if it is not known, or not limited. */
  memoryBytes(): number | null;
}

export type OpenChannel = (events: ChannelEvents) => Channel;
