// Reads a body piece by piece, at the reader's pace.

export interface BodyReader {
  /** Resolves to the next bytes, or to null at the end. Rejects if the body breaks off. */
  next(): Promise<Uint8Array | null>;
  /** Waits for the first bytes without consuming them: until they have arrived, another target can be tried. */
  peek(): Promise<Uint8Array | null>;
  /** Stops the sender: the rest of the body is not needed. */
  cancel(): void;
}
