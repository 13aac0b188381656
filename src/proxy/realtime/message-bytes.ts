// Messages on their way between threads: as they were received, and as frames that are ready to be sent.
import { EncodedFrame } from "../../http/websocket/messages.ts";

export interface MessageBytes {
  readonly bytes: Uint8Array;
  readonly isText: boolean;
}

/** Fields of the output of a task: then the memory is moved, not copied. */
export interface FrameBytes {
  readonly memory: Uint8Array;
  /** Where the frame begins: its payload is aligned. */
  readonly start: number;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function decodeMessage({ bytes, isText }: MessageBytes): string | Uint8Array {
  return isText ? decoder.decode(bytes) : bytes;
}

export function toFrameBytes({ buffer, byteOffset }: Uint8Array): FrameBytes {
  return { memory: new Uint8Array(buffer), start: byteOffset };
}

export function toFrame({ memory, start }: FrameBytes): EncodedFrame {
  return new EncodedFrame(memory.subarray(start));
}
