// Parses the frames of a WebSocket, wherever they are split, and joins fragments to messages. Parsing is as strict as RFC 6455
// requires, and bounded.
import { isUtf8 } from "node:buffer";
import { GatehouseError } from "../../base/errors.ts";
import { ChunkCollector } from "../chunk-collector.ts";
import { CLOSE, isSendable } from "./close-codes.ts";
import { MAX_CONTROL_BYTES, OPCODE } from "./frames.ts";
import { LargeMessage, type MessageLimits, type ReceivedMessage } from "./messages.ts";
import { UnfinishedMessage, type MessageMemory } from "./unfinished-message.ts";

export interface FrameEvents {
  /** Of a text or binary frame, or of its fragments. */
  onMessage(message: ReceivedMessage): void;
  onPing(payload: Uint8Array): void;
  onPong?(): void;
  /** `code` is CLOSE.noStatus if the frame has none. */
  onClose(code: number, reason: string): void;
  /** A message that made no progress has lost its memory to others: close the socket with this error. */
  onRefused(error: FrameError): void;
}

/** The sender violated the protocol or a limit. `code` and `reason` are those of the close frame to send. */
export class FrameError extends Error {
  override readonly name = "FrameError";
  readonly code: number;
  readonly reason: string;

  constructor(code: number, message: string, reason = "") {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

/** Without the mask. */
const MAX_FRAME_HEADER_BYTES = 10;
const MASK_BYTES = 4;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** After a close frame no further bytes are parsed. Throws FrameError. */
export class FrameParser {
  readonly #events: FrameEvents;
  readonly #limits: MessageLimits;
  /** Clients mask their frames, servers do not (section 5.1). */
  readonly #isMasked: boolean;
  readonly #header = Buffer.alloc(MAX_FRAME_HEADER_BYTES + MASK_BYTES);
  #headerLength = 0;
  /** Bytes of the current frame that have not arrived; -1 while its header is incomplete. */
  #remaining = -1;
  #isFinal = false;
  #opcode = 0;
  /** The opcode of the message that is being received; 0 between messages. */
  #messageOpcode = 0;
  readonly #message: UnfinishedMessage;
  readonly #control = new ChunkCollector();
  #mask = 0;
  /** Bytes of the current frame that have arrived. */
  #unmasked = 0;
  #isClosed = false;

  constructor(
    events: FrameEvents,
    limits: MessageLimits,
    sender: "client" | "server",
    memory: MessageMemory,
  ) {
    this.#events = events;
    this.#message = new UnfinishedMessage(memory, () => {
      this.#isClosed = true;
      events.onRefused(noRoom());
    });
    this.#limits = limits;
    this.#isMasked = sender === "client";
  }

  /**
   * Parses what is left of a frame, or the next one. Returns where the frame after it begins: the caller decides when to continue, because
   * half a megabyte may arrive at once, and have a frame in every few bytes.
   */
  read(bytes: Uint8Array, from: number): number {
    if (this.#isClosed) return bytes.length;
    const at = this.#remaining < 0 ? this.#readHeader(bytes, from) : from;
    return this.#remaining > 0 && at < bytes.length ? this.#readPayload(bytes, at) : at;
  }

  /**
   * Returns the size of the message that the next bytes complete; 0 if they complete none. Its fragments are joined then, which is work that
   * cannot be divided.
   */
  sizeCompletedBy(bytes: number): number {
    const isComplete = this.#remaining >= 0 && this.#remaining <= bytes;
    return isComplete && this.#isFinal && this.#opcode < OPCODE.close
      ? this.#message.size + this.#remaining
      : 0;
  }

  /** Whether a message has begun and is not complete. */
  get isInMessage(): boolean {
    return this.#messageOpcode !== 0;
  }

  /** Stops parsing, and frees the memory of an unfinished message. */
  close(): void {
    this.#isClosed = true;
    this.#message.clear();
  }

  #readHeader(bytes: Uint8Array, from: number): number {
    let at = from;
    while (at < bytes.length) {
      this.#header[this.#headerLength++] = bytes[at++] ?? 0;
      if (this.#headerLength < 2) continue;
      const second = this.#header[1] ?? 0;
      const short = second & 0x7f;
      const maskBytes = (second & 0x80) === 0 ? 0 : MASK_BYTES;
      const wanted = (short === 126 ? 4 : short === 127 ? 10 : 2) + maskBytes;
      if (this.#headerLength < wanted) continue;
      this.#headerLength = 0;
      if (maskBytes > 0) this.#mask = this.#header.readInt32LE(wanted - maskBytes);
      this.#unmasked = 0;
      this.#beginFrame(short);
      break;
    }
    return at;
  }

  #beginFrame(short: number): void {
    const [first = 0, second = 0] = this.#header;
    if ((first & 0x70) !== 0) throw protocolError("reserved bits are set");
    if (((second & 0x80) !== 0) !== this.#isMasked)
      throw protocolError(
        this.#isMasked ? "a frame of a client is not masked" : "a frame of a server is masked",
      );
    this.#isFinal = (first & 0x80) !== 0;
    this.#opcode = first & 0x0f;
    const length = this.#lengthOf(short);
    if (this.#opcode >= OPCODE.close) this.#checkControl(length);
    else this.#checkData(length);
    this.#remaining = length;
    if (length === 0) this.#endFrame(null);
  }

  #lengthOf(short: number): number {
    if (short < 126) return short;
    const length = short === 126 ? this.#header.readUInt16BE(2) : Number(this.#header.readBigUInt64BE(2));
    // Section 5.2: the minimal number of bytes must be used to encode the length.
    if (length < (short === 126 ? 126 : 0x10000)) throw protocolError("the length is not minimal");
    return length;
  }

  #checkControl(length: number): void {
    const { close, ping, pong } = OPCODE;
    if (this.#opcode !== close && this.#opcode !== ping && this.#opcode !== pong)
      throw protocolError(`unknown opcode ${this.#opcode}`);
    if (!this.#isFinal || length > MAX_CONTROL_BYTES) throw protocolError("invalid control frame");
  }

  #checkData(length: number): void {
    const { continuation, text, binary } = OPCODE;
    if (this.#opcode === continuation) {
      if (this.#messageOpcode === 0) throw protocolError("a continuation without a message");
    } else {
      if (this.#opcode !== text && this.#opcode !== binary)
        throw protocolError(`unknown opcode ${this.#opcode}`);
      if (this.#messageOpcode !== 0) throw protocolError("a message inside of another");
      this.#messageOpcode = this.#opcode;
    }
    const { maxBytes } = this.#limits;
    if (this.#message.size + length > maxBytes)
      throw new FrameError(CLOSE.messageTooBig, `a message is larger than ${maxBytes} bytes`);
  }

  #readPayload(bytes: Uint8Array, at: number): number {
    const end = Math.min(bytes.length, at + this.#remaining);
    // Copied: the collector frees the memory of large chunks, and this chunk may have further frames.
    const part = new Uint8Array(bytes.subarray(at, end));
    if (this.#isMasked) this.#unmask(part);
    this.#remaining -= end - at;
    const isControl = this.#opcode >= OPCODE.close;
    const collected = isControl ? this.#control : this.#message;
    if (this.#remaining === 0 && this.#isFinal && collected.size === 0) this.#endFrame(part);
    else {
      if (isControl) this.#control.add(part);
      else this.#addToMessage(part);
      if (this.#remaining === 0) this.#endFrame(null);
    }
    return end;
  }

  #addToMessage(part: Uint8Array): void {
    try {
      this.#message.add(part);
    } catch (error) {
      throw error instanceof GatehouseError ? noRoom() : error;
    }
  }

  #unmask(part: Uint8Array): void {
    let position = this.#unmasked;
    for (let index = 0; index < part.length; index++, position++)
      part[index] = (part[index] ?? 0) ^ ((this.#mask >>> ((position & 3) * 8)) & 0xff);
    this.#unmasked = position;
  }

  /** `whole`: the payload of a message that arrived in one piece; null if it was collected. */
  #endFrame(whole: Uint8Array | null): void {
    this.#remaining = -1;
    if (this.#opcode >= OPCODE.close) this.#endControl(whole ?? this.#control.take());
    else if (this.#isFinal) {
      const isText = this.#messageOpcode === OPCODE.text;
      this.#messageOpcode = 0;
      this.#endMessage(whole ?? this.#message.take(), isText);
    }
  }

  #endMessage(bytes: Uint8Array, isText: boolean): void {
    const isLarge = this.#limits.isLarge(bytes);
    if (isLarge && isText && !isUtf8(bytes)) throw invalidText();
    this.#events.onMessage(isLarge ? new LargeMessage(bytes, isText) : isText ? decodeText(bytes) : bytes);
  }

  #endControl(payload: Uint8Array): void {
    if (this.#opcode === OPCODE.ping) this.#events.onPing(payload);
    if (this.#opcode === OPCODE.pong) this.#events.onPong?.();
    if (this.#opcode !== OPCODE.close) return;
    this.#isClosed = true;
    if (payload.length === 0) {
      this.#events.onClose(CLOSE.noStatus, "");
      return;
    }
    const code = ((payload[0] ?? 0) << 8) | (payload[1] ?? 0);
    if (payload.length === 1 || !isSendable(code)) throw protocolError("invalid close code");
    this.#events.onClose(code, decodeText(payload.subarray(2)));
  }
}

function decodeText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw invalidText();
  }
}

function invalidText(): FrameError {
  return new FrameError(CLOSE.invalidText, "a text is not UTF-8");
}

function noRoom(): FrameError {
  const reason = "Messages and bodies in memory have reached MAX_BUFFERED_BYTES. Connect again later.";
  return new FrameError(CLOSE.tryAgainLater, reason, reason);
}

function protocolError(message: string): FrameError {
  return new FrameError(CLOSE.protocolError, message);
}
