// One worker thread: runs one task at a time, and reports if it ends by itself.
import type { Clock, ClockTimer } from "../base/clock.ts";
import { toError } from "../base/to-error.ts";
import { attachStrings, detachStrings } from "./large-strings.ts";
import { moduleUrl } from "./module-url.ts";
import { OffLoopError } from "./off-loop-error.ts";
import { fromTaskError, type TaskReply, type TaskRequest } from "./task-messages.ts";

const ENTRY = new URL("./off-loop-worker.ts", import.meta.url);

type Settle = (error: Error | null, output: unknown) => void;

export class OffLoopThread {
  hasEnded = false;
  readonly #worker: Worker;
  readonly #clock: Clock;
  #settle: Settle | null = null;
  /** Of the next message. */
  #strings: readonly string[] = [];
  #idleTimer: ClockTimer | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#worker = new Worker(moduleUrl(ENTRY));
    this.#worker.onmessage = ({ data }: MessageEvent<TaskReply | string[]>) => {
      const strings = this.#strings;
      this.#strings = [];
      if (Array.isArray(data)) this.#strings = data;
      else if ("error" in data) this.#finish(fromTaskError(data.error), null);
      else this.#finish(null, attachStrings(data.output, strings, data.places));
    };
    this.#worker.onerror = (event) => this.#crash(event.message);
    this.#worker.onmessageerror = () => this.#crash("the output of the task could not be read");
    this.#worker.addEventListener("close", () => this.#crash("the thread ended"));
    this.#worker.unref();
  }

  /**
   * Resolves to the output of the task; rejects with the error of the task, or when the thread ends. `moved` is the part of the input that
   * is moved instead of copied.
   */
  run(module: string, input: unknown, moved: Uint8Array<ArrayBuffer> | null): Promise<unknown> {
    this.#idleTimer?.close();
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#settle = (error, output) => (error === null ? resolve(output) : reject(error));
    // A process must not exit while it waits for a task, but an idle thread must not keep it running.
    this.#worker.ref();
    try {
      const { value, strings, places } = detachStrings(input);
      if (strings.length > 0) this.#worker.postMessage(strings);
      const message: TaskRequest = { module, input: value, places };
      this.#worker.postMessage(message, moved === null ? [] : [moved.buffer]);
    } catch (error) {
      this.#finish(toError(error), null);
    }
    return promise;
  }

  /** Calls `onIdle` if there is no task for this long. */
  restFor(idleMs: number, onIdle: () => void): void {
    this.#idleTimer = this.#clock.setTimeout(onIdle, idleMs);
    this.#idleTimer.unref();
  }

  /** Ends the thread at once, even in the middle of a task. */
  end(): void {
    this.#crash("the thread was ended");
  }

  #crash(detail: string): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.#idleTimer?.close();
    this.#worker.terminate();
    const cause = new Error(detail);
    this.#finish(new OffLoopError("crashed", "A worker thread ended unexpectedly.", { cause }), null);
  }

  #finish(error: Error | null, output: unknown): void {
    const settle = this.#settle;
    this.#settle = null;
    this.#worker.unref();
    settle?.(error, output);
  }
}
