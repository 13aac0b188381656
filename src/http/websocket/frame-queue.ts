// Frames that are sent over a connection. Those of one turn are sent with one system call, and they wait while the connection is slower
// than their sender.
import { ChunkCollector } from "../chunk-collector.ts";
import { LARGE_BUFFER_BYTES } from "../free-memory.ts";
import { encodeFrame, OPCODE, type FrameSender } from "./frames.ts";
import type { SocketWriter } from "./socket-writer.ts";

/** With more bytes, frames are sent without waiting for others of the same turn. */
const MAX_GATHERED_BYTES = 64 * 1024;
/** With more bytes than these to send, pings are not replied to: a peer that does not read gets no replies either. */
const MAX_QUEUED_FOR_PONG = 64 * 1024;

export class FrameQueue {
  readonly #writer: SocketWriter;
  readonly #sender: FrameSender;
  /** Large frames, and small ones that are joined. */
  #waiting: Uint8Array[] = [];
  /** The last small frames: a list of frames of a few bytes would take many times their memory. */
  readonly #small = new ChunkCollector();
  /** Of both. */
  #waitingBytes = 0;
  /** Size of the bytes of which the connection has sent only a part. */
  #unsentBytes = 0;
  #isWritable = true;
  /** Whether the frames are sent at the end of the current task. */
  #isScheduled = false;
  /** The payload of the last ping that was not replied to. */
  #pinged: Uint8Array | null = null;

  /** `onDrained` is called when the kernel has taken frames that had to wait for it, and none is left. */
  constructor(writer: SocketWriter, sender: FrameSender, onDrained: () => void) {
    this.#writer = writer;
    this.#sender = sender;
    writer.onDrained = () => {
      if (this.#isWritable) return;
      this.#send();
      if (this.#isWritable) onDrained();
    };
  }

  /** Bytes that the kernel has not taken yet. */
  get bytes(): number {
    return this.#waitingBytes + this.#unsentBytes;
  }

  add(frame: Uint8Array): void {
    this.#append(frame);
    if (this.#waitingBytes >= MAX_GATHERED_BYTES) this.flush();
    else this.#schedule();
  }

  /** Of several pings that arrive together only the last one is replied to (RFC 6455, section 5.5.3). */
  replyToPing(payload: Uint8Array): void {
    if (this.bytes > MAX_QUEUED_FOR_PONG) return;
    this.#pinged = payload;
    this.#schedule();
  }

  /** Adds a frame that no other follows. */
  addLast(frame: Uint8Array): void {
    this.#appendPong();
    this.#append(frame);
    this.flush();
  }

  /** Sends what waits for further frames of this turn. */
  flush(): void {
    if (this.#isWritable) this.#send();
  }

  #schedule(): void {
    if (this.#isScheduled || !this.#isWritable) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.flush();
    });
  }

  #append(frame: Uint8Array): void {
    this.#waitingBytes += frame.length;
    if (frame.length < LARGE_BUFFER_BYTES) this.#small.add(frame);
    const isLarge = frame.length >= LARGE_BUFFER_BYTES;
    if (isLarge || this.#small.size >= MAX_GATHERED_BYTES) this.#joinSmall();
    if (isLarge) this.#waiting.push(frame);
  }

  #appendPong(): void {
    if (this.#pinged === null) return;
    this.#append(encodeFrame(OPCODE.pong, this.#pinged, this.#sender));
    this.#pinged = null;
  }

  #joinSmall(): void {
    if (this.#small.size > 0) this.#waiting.push(this.#small.take());
  }

  #send(): void {
    this.#appendPong();
    this.#joinSmall();
    const waiting = this.#waiting;
    let count = 0;
    this.#isWritable = true;
    this.#unsentBytes = 0;
    while (this.#isWritable && count < waiting.length) {
      const bytes = waiting[count++];
      if (bytes === undefined) break;
      this.#isWritable = this.#writer.write(bytes);
      this.#waitingBytes -= bytes.length;
      if (!this.#isWritable) this.#unsentBytes = bytes.length;
    }
    this.#waiting = count === waiting.length ? [] : waiting.slice(count);
  }
}
