// WebSocket frames (RFC 6455) as a server reads and writes them: feed() adds bytes, next() returns whole messages.
import { createHash } from "node:crypto";
import { isUtf8 } from "node:buffer";

export type WebSocketEvent =
  | { kind: "text"; text: string }
  | { kind: "binary"; bytes: Uint8Array }
  | { kind: "ping"; payload: Uint8Array }
  | { kind: "pong" }
  /** The code is null if the peer sent none. */
  | { kind: "close"; code: number | null; reason: string }
  /** The peer violates the protocol: close with this code. */
  | { kind: "error"; code: number; reason: string };

const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const MAX_MESSAGE_BYTES = 1 << 24;
const MAX_CONTROL_BYTES = 125;
const EMPTY = Buffer.alloc(0);
/** RFC 6455 1.3 */
const KEY_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

export function acceptKey(key: string): string {
  return createHash("sha1")
    .update(key + KEY_SUFFIX)
    .digest("base64");
}

/** Returns one unmasked frame, as servers send them. */
export function encodeFrame(kind: keyof typeof OPCODES, payload: Uint8Array): Uint8Array {
  const { length } = payload;
  const extended = length < 126 ? 0 : length < 1 << 16 ? 2 : 8;
  const frame = Buffer.allocUnsafe(2 + extended + length);
  frame[0] = 0x80 | OPCODES[kind];
  frame[1] = extended === 0 ? length : extended === 2 ? 126 : 127;
  if (extended === 2) frame.writeUInt16BE(length, 2);
  if (extended === 8) frame.writeBigUInt64BE(BigInt(length), 2);
  frame.set(payload, 2 + extended);
  return frame;
}

/** Without a code, the frame is empty. */
export function encodeClose(code: number | null, reason = ""): Uint8Array {
  if (code === null) return encodeFrame("close", EMPTY);
  const payload = Buffer.from(`  ${reason}`);
  payload.writeUInt16BE(code, 0);
  return encodeFrame("close", payload.subarray(0, MAX_CONTROL_BYTES));
}

interface Frame {
  readonly opcode: number;
  readonly isFinal: boolean;
  readonly payload: Buffer;
}

export class FrameReader {
  #input: Buffer = EMPTY;
  /** The frames of a message that is not complete yet. */
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  #messageOpcode = 0;

  feed(bytes: Buffer): void {
    this.#input = this.#input.length === 0 ? bytes : Buffer.concat([this.#input, bytes]);
  }

  /** Returns the next event, or null if it needs more bytes. After an error, the connection has to be closed. */
  next(): WebSocketEvent | null {
    for (;;) {
      const frame = this.#readFrame();
      if (frame === null || "kind" in frame) return frame;
      const event = frame.opcode >= 8 ? controlEvent(frame) : this.#addPiece(frame);
      if (event !== null) return event;
    }
  }

  #readFrame(): Frame | WebSocketEvent | null {
    const input = this.#input;
    const [first, second] = input;
    if (first === undefined || second === undefined) return null;
    if ((first & 0x70) !== 0) return violation("reserved bits are set");
    if ((second & 0x80) === 0) return violation("a frame of a client is not masked");
    let length = second & 0x7f;
    let at = 2;
    if (length >= 126) {
      const bytes = length === 126 ? 2 : 8;
      if (input.length < at + bytes) return null;
      length = bytes === 2 ? input.readUInt16BE(at) : Number(input.readBigUInt64BE(at));
      at += bytes;
    }
    const opcode = first & 0x0f;
    const isFinal = (first & 0x80) !== 0;
    if (opcode >= 8 && (!isFinal || length > MAX_CONTROL_BYTES))
      return violation("a control frame is too long");
    if (this.#pieceBytes + length > MAX_MESSAGE_BYTES)
      return { kind: "error", code: 1009, reason: "the message is too large" };
    if (input.length < at + 4 + length) return null;
    const payload = unmasked(input.subarray(at + 4, at + 4 + length), input.subarray(at, at + 4));
    this.#input = input.subarray(at + 4 + length);
    return { opcode, isFinal, payload };
  }

  #addPiece({ opcode, isFinal, payload }: Frame): WebSocketEvent | null {
    const isContinued = this.#pieces.length > 0;
    if (isContinued !== (opcode === OPCODES.continuation)) return violation("fragments are out of order");
    if (opcode > OPCODES.binary) return violation("the opcode is unknown");
    if (!isContinued) this.#messageOpcode = opcode;
    this.#pieces.push(payload);
    this.#pieceBytes += payload.length;
    if (!isFinal) return null;
    const bytes = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#pieceBytes = 0;
    if (this.#messageOpcode === OPCODES.binary) return { kind: "binary", bytes };
    return isUtf8(bytes)
      ? { kind: "text", text: bytes.toString() }
      : { kind: "error", code: 1007, reason: "a text is not UTF-8" };
  }
}

function violation(reason: string): WebSocketEvent {
  return { kind: "error", code: 1002, reason };
}

function unmasked(payload: Buffer, mask: Buffer): Buffer {
  const plain = Buffer.allocUnsafe(payload.length);
  for (let index = 0; index < payload.length; index++)
    plain[index] = (payload[index] ?? 0) ^ (mask[index & 3] ?? 0);
  return plain;
}

function controlEvent({ opcode, payload }: Frame): WebSocketEvent {
  switch (opcode) {
    case OPCODES.ping:
      return { kind: "ping", payload };
    case OPCODES.pong:
      return { kind: "pong" };
    case OPCODES.close:
      if (payload.length === 1) return violation("a close code has one byte");
      return payload.length === 0
        ? { kind: "close", code: null, reason: "" }
        : { kind: "close", code: payload.readUInt16BE(0), reason: payload.toString("utf8", 2) };
    default:
      return violation("the opcode is unknown");
  }
}
