// Messages of a WebSocket: as text or bytes, as the bytes of a large one that is not decoded yet, and as a frame that is ready to be sent.

export interface MessageLimits {
  /** Larger messages are refused with 1009. */
  readonly maxBytes: number;
  /** Whether decoding, reading and encoding a message would keep other connections waiting. */
  isLarge(bytes: Uint8Array): boolean;
}

export class LargeMessage {
  readonly bytes: Uint8Array;
  /** Whether the bytes are a text, which is valid UTF-8. */
  readonly isText: boolean;

  constructor(bytes: Uint8Array, isText: boolean) {
    this.bytes = bytes;
    this.isText = isText;
  }
}

export type ReceivedMessage = string | Uint8Array | LargeMessage;

/** A frame for the other side of the connection that sends it: masked for a server, not masked for a client. */
export class EncodedFrame {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

export type SentMessage = string | Uint8Array | EncodedFrame;
