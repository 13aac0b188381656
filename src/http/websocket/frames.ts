// Encodes the frames of a WebSocket (RFC 6455, section 5.2). Clients mask them, servers do not.
import { randomFillSync } from "node:crypto";
import { EncodedFrame, type SentMessage } from "./messages.ts";

export type FrameSender = "client" | "server";

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
type Opcode = (typeof OPCODE)[keyof typeof OPCODE];

export const MAX_CONTROL_BYTES = 125;

const FIN = 0x80;
const MASKED = 0x80;
const MASK_BYTES = 4;
const LENGTH_16 = 126;
const LENGTH_64 = 127;

/** Mask keys are taken from a block of random bytes: one system call per frame would cost more than the frame. */
const masks = new Int32Array(256);
let nextMask = masks.length;

/** A client must mask every frame with an unpredictable key (section 5.3). */
function newMask(): number {
  if (nextMask === masks.length) {
    randomFillSync(masks);
    nextMask = 0;
  }
  return masks[nextMask++] ?? 0;
}

export function encodeMessage(message: SentMessage, sender: FrameSender): Uint8Array {
  if (message instanceof EncodedFrame) return message.bytes;
  return encodeFrame(typeof message === "string" ? OPCODE.text : OPCODE.binary, message, sender);
}

/** Returns a frame that is a whole message or a control frame. The payload is copied. */
export function encodeFrame(opcode: Opcode, payload: string | Uint8Array, sender: FrameSender): Uint8Array {
  const isMasked = sender === "client";
  const length = Buffer.byteLength(payload);
  const extended = length < LENGTH_16 ? 0 : length <= 0xffff ? 2 : 8;
  const headerBytes = 2 + extended + (isMasked ? MASK_BYTES : 0);
  // The payload starts at a multiple of four, so that it can be masked four bytes at a time.
  const padding = -headerBytes & 3;
  const start = padding + headerBytes;
  const bytes = Buffer.allocUnsafeSlow(start + length);
  bytes[padding] = FIN | opcode;
  const shortLength = extended === 0 ? length : extended === 2 ? LENGTH_16 : LENGTH_64;
  bytes[padding + 1] = isMasked ? MASKED | shortLength : shortLength;
  if (extended === 2) bytes.writeUInt16BE(length, padding + 2);
  else if (extended === 8) bytes.writeBigUInt64BE(BigInt(length), padding + 2);
  if (typeof payload === "string") bytes.write(payload, start, "utf8");
  else bytes.set(payload, start);
  if (isMasked) {
    const mask = newMask();
    bytes.writeInt32LE(mask, start - MASK_BYTES);
    applyMask(bytes, start, length, mask);
  }
  return bytes.subarray(padding);
}

function applyMask(bytes: Buffer, start: number, length: number, mask: number): void {
  const words = new Int32Array(bytes.buffer, start, length >> 2);
  for (let index = 0; index < words.length; index++) words[index] = (words[index] ?? 0) ^ mask;
  for (let at = length & ~3; at < length; at++)
    bytes[start + at] = (bytes[start + at] ?? 0) ^ ((mask >>> ((at & 3) * 8)) & 0xff);
}

/** `code` null: a close frame without a code. */
export function encodeClose(code: number | null, reason: string, sender: FrameSender): Uint8Array {
  if (code === null) return encodeFrame(OPCODE.close, "", sender);
  const text = Buffer.from(reason);
  const payload = Buffer.alloc(2 + Math.min(text.length, MAX_CONTROL_BYTES - 2));
  payload.writeUInt16BE(code);
  // A reason that is cut inside a character would not be UTF-8, so it is left out.
  if (text.length + 2 > MAX_CONTROL_BYTES) return encodeFrame(OPCODE.close, payload.subarray(0, 2), sender);
  payload.set(text, 2);
  return encodeFrame(OPCODE.close, payload, sender);
}
