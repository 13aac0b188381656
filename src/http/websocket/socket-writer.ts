// The sending side of a connection that has switched to the WebSocket protocol.

/** The connection after the handshake. */
export interface SocketWriter {
  /** Returns false if bytes are left to send: wait for `onDrained` before the next call. */
  write(bytes: Uint8Array): boolean;
  onDrained: (() => void) | null;
}
