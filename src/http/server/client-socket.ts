// The part of Bun's TCP socket that a connection of a client uses.

export interface ClientSocket {
  readonly remoteAddress: string;
  /** Returns how many bytes the kernel took; negative if the socket is closed. */
  write(bytes: Uint8Array, offset?: number, length?: number): number;
  pause(): void;
  resume(): void;
  /** Sends FIN. */
  shutdown(): void;
  /** Sends FIN and closes the socket. */
  end(): void;
  /** Closes the socket at once. */
  terminate(): void;
}
