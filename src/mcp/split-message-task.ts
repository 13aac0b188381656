// Splits a large message in a worker thread.
import { splitMessage, type SplitMessage } from "./split-message.ts";

interface Input {
  readonly bytes: Uint8Array;
  readonly isUnique: boolean;
  /** Whether the bytes were moved here: the event loop has no others. */
  readonly isMoved: boolean;
}

export function run({ bytes, isUnique, isMoved }: Input): SplitMessage {
  const split = splitMessage(bytes, isUnique);
  return isMoved ? { ...split, bytes: split.bytes ?? bytes } : split;
}
