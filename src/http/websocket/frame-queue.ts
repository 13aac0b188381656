// Frames that wait for a connection that is slower than their sender.
import type { SocketWriter } from "./socket-writer.ts";

export class FrameQueue {
  readonly #writer: SocketWriter;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  /** Size of the frame of which the connection has sent only a part. */
  #unsentBytes = 0;
  #isWritable = true;

  /** `onDrained` is called when the kernel has taken frames that had to wait for it, and none is left. */
  constructor(writer: SocketWriter, onDrained: () => void) {
    this.#writer = writer;
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
    this.#waitingBytes += frame.length;
    this.#waiting.push(frame);
    if (this.#isWritable) this.#send();
  }

  #send(): void {
    const waiting = this.#waiting;
    let count = 0;
    this.#isWritable = true;
    this.#unsentBytes = 0;
    while (this.#isWritable && count < waiting.length) {
      const frame = waiting[count++];
      if (frame === undefined) break;
      this.#isWritable = this.#writer.write(frame);
      this.#waitingBytes -= frame.length;
      if (!this.#isWritable) this.#unsentBytes = frame.length;
    }
    this.#waiting = count === waiting.length ? [] : waiting.slice(count);
  }
}
