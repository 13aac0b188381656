// Packets on a socket: the length of the rest, the length of the text, the lengths of the byte arrays, and then their content.
// All lengths are 32-bit little-endian.
import type { Packet } from "./messages.ts";

const WORD = 4;
/** Larger frames are an error, so that a plugin cannot make the gateway allocate any amount of memory. */
export const MAX_FRAME_BYTES = 256 * 1024 * 1024;
const MAX_BLOBS = 1000;

export function encodeFrame({ text, blobs }: Packet): Buffer {
  const textBytes = Buffer.byteLength(text);
  const headerBytes = WORD * (3 + blobs.length);
  const total = blobs.reduce((sum, blob) => sum + blob.byteLength, headerBytes + textBytes);
  const frame = Buffer.allocUnsafe(total);
  frame.writeUInt32LE(total - WORD, 0);
  frame.writeUInt32LE(textBytes, WORD);
  frame.writeUInt32LE(blobs.length, WORD * 2);
  for (const [index, blob] of blobs.entries()) frame.writeUInt32LE(blob.byteLength, WORD * (3 + index));
  frame.write(text, headerBytes);
  let offset = headerBytes + textBytes;
  for (const blob of blobs) {
    frame.set(blob, offset);
    offset += blob.byteLength;
  }
  return frame;
}

export class FrameReader {
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Bytes that are needed before the next frame can be complete. */
  #needed = WORD;

  /** Returns the packets that are complete now. Throws if the bytes are not a frame. */
  read(chunk: Buffer): Packet[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    if (this.#bytes < this.#needed) return [];
    let rest = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    const packets: Packet[] = [];
    this.#needed = WORD;
    while (rest.byteLength >= WORD) {
      const end = WORD + rest.readUInt32LE(0);
      if (end > MAX_FRAME_BYTES) throw new Error(`a frame of ${end} bytes is larger than ${MAX_FRAME_BYTES}`);
      if (rest.byteLength < end) {
        this.#needed = end;
        break;
      }
      packets.push(decodeFrame(rest.subarray(WORD, end)));
      rest = rest.subarray(end);
    }
    this.#chunks = rest.byteLength === 0 ? [] : [rest];
    this.#bytes = rest.byteLength;
    return packets;
  }
}

function decodeFrame(frame: Buffer): Packet {
  if (frame.byteLength < WORD * 2) throw new Error("a frame is too short");
  const textBytes = frame.readUInt32LE(0);
  const count = frame.readUInt32LE(WORD);
  if (count > MAX_BLOBS)
    throw new Error(`a frame has ${count} byte arrays; at most ${MAX_BLOBS} are allowed`);
  const headerBytes = WORD * (2 + count);
  let offset = headerBytes + textBytes;
  if (offset > frame.byteLength) throw new Error("a frame is too short");
  const text = frame.toString("utf8", headerBytes, offset);
  const blobs: Uint8Array[] = [];
  for (let index = 0; index < count; index++) {
    const end = offset + frame.readUInt32LE(WORD * (2 + index));
    if (end > frame.byteLength) throw new Error("a frame is too short");
    blobs.push(frame.subarray(offset, end));
    offset = end;
  }
  return { text, blobs };
}
