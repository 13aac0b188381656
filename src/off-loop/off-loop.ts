// Runs CPU-bound tasks in worker threads, so that the event loop stays free for other requests.
//
// A task is a module that exports `run(input)`, which returns its output or a promise of it. Its file name ends with `-task.ts`: the
// build of the single executable includes these files, and their names must be unique.
//
//   import type * as translateTask from "./translate-task.ts";
//   const TASK = new URL("./translate-task.ts", import.meta.url);
//   const output = await offLoop.run<typeof translateTask>(TASK, input, { bytes: body.length, timeoutMs: 5000 });
//
// - Input and output are copied by structured clone. Large strings are shared, not copied; bytes cost about 0.2 ms per MB on the loop;
//   objects cost as much as parsing their JSON, and maps more. So pass bytes or strings, and parse and serialize inside the task. Large
//   byte arrays of the output are moved, not copied. The input must not change until the promise settles.
// - A task that throws rejects with the same error; a GatehouseError keeps its code and details.
// - Threads start with the first task and end after a minute without one: an installation that never needs them pays nothing.
// - Every task has a time limit, waiting included. A task that exceeds it ends with its thread: `timed_out`, or `overloaded` if it was
//   waiting for most of the time. A waiting task can be aborted at once; an aborted task that has started runs on, but at most until
//   its time limit.
// - Waiting tasks are bounded by count and bytes, of one tenant to a part of both, and tasks of different tenants start in turn. Beyond the bound, and in all other cases without an output: OffLoopError.
import { availableParallelism } from "node:os";
import { systemClock, type Clock, type ClockTimer } from "../base/clock.ts";
import { toError } from "../base/to-error.ts";
import { moduleUrl } from "./module-url.ts";
import { OffLoopError } from "./off-loop-error.ts";
import { OffLoopThread } from "./off-loop-thread.ts";

/** The exports of a task module. */
export interface TaskModule {
  run(input: never): unknown;
}

export interface TaskLimits {
  /** From the call of `run` to its result. */
  readonly timeoutMs: number;
  /** The size of the input, for the bound of waiting tasks. */
  readonly bytes: number;
  readonly signal?: AbortSignal;
}

export interface TaskOptions extends TaskLimits {
  /**
   * A part of the input that is moved to the thread when the task starts, instead of copied. Nothing else may use its memory: it is empty
   * afterwards.
   */
  readonly moved?: Uint8Array<ArrayBuffer>;
  /** Those that share a part of the threads, such as a gateway: tasks of different tenants start in turn. */
  readonly tenant?: string;
}

/** How the tasks so far ended. Aborted tasks are not counted. */
interface TaskCounts {
  readonly completed: number;
  /** The task threw an error, or its thread crashed. */
  readonly failed: number;
  readonly timed_out: number;
  /** Rejected because too many tasks were waiting. */
  readonly rejected: number;
}

interface OffLoopOptions {
  readonly maxThreads: number;
  readonly maxWaitingTasks: number;
  readonly maxWaitingBytes: number;
  /** The part of these bounds that one tenant may use, so that others find room. */
  readonly maxShare: number;
  readonly idleMs: number;
  readonly clock: Clock;
}

const DEFAULTS: OffLoopOptions = {
  // One core stays free for the event loop.
  maxThreads: Math.max(1, Math.min(2, availableParallelism() - 1)),
  maxWaitingTasks: 100,
  // Waiting tasks only refer to bodies, whose memory MAX_BUFFERED_BYTES limits.
  maxWaitingBytes: 256 * 1024 * 1024,
  maxShare: 3 / 4,
  idleMs: 60_000,
  clock: systemClock,
};

interface Task {
  readonly module: string;
  readonly input: unknown;
  readonly bytes: number;
  readonly tenant: string;
  readonly moved: Uint8Array<ArrayBuffer> | null;
  readonly timer: ClockTimer;
  /** When a thread started it; null while it waits. */
  startedAt: number | null;
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface WaitingTasks {
  readonly tasks: Set<Task>;
  bytes: number;
}

/** What code needs to start tasks. */
export interface OffLoopPart {
  readonly offLoop: OffLoop;
}

export class OffLoop {
  readonly #options: OffLoopOptions;
  readonly #threads = new Set<OffLoopThread>();
  readonly #idle: OffLoopThread[] = [];
  /** By tenant. The one whose turn it is comes first. */
  readonly #waiting = new Map<string, WaitingTasks>();
  readonly #running = new Map<Task, OffLoopThread>();
  #waitingCount = 0;
  #waitingBytes = 0;
  #isClosed = false;
  readonly #counts = { completed: 0, failed: 0, timed_out: 0, rejected: 0 };

  constructor(options: Partial<OffLoopOptions> = {}) {
    this.#options = { ...DEFAULTS, ...options };
  }

  get counts(): TaskCounts {
    return this.#counts;
  }

  get threadCount(): number {
    return this.#threads.size;
  }

  get waitingCount(): number {
    return this.#waitingCount;
  }

  /** Resolves to the output of the task's `run`. */
  run<Module extends TaskModule>(
    module: URL,
    input: Parameters<Module["run"]>[0],
    options: TaskOptions,
  ): Promise<Awaited<ReturnType<Module["run"]>>>;
  async run(module: URL, input: unknown, options: TaskOptions): Promise<unknown> {
    const { timeoutMs, bytes, signal, moved = null, tenant = "" } = options;
    if (this.#isClosed) throw new OffLoopError("closed", "The gateway is stopping.");
    if (signal?.aborted === true) throw abortedError();
    const thread = this.#availableThread();
    if (thread === null && !this.#canWait(bytes, tenant)) {
      this.#counts.rejected++;
      throw new OffLoopError("overloaded", "Too many large bodies are being processed. Retry later.");
    }
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const timer = this.#options.clock.setTimeout(() => this.#expire(task, timeoutMs), timeoutMs);
    const url = moduleUrl(module);
    const task: Task = { module: url, input, bytes, tenant, moved, timer, startedAt: null, resolve, reject };
    const abort = () => this.#abort(task);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      if (thread === null) this.#wait(task);
      else void this.#start(task, thread);
      return await promise;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Ends all threads and rejects all tasks. */
  close(): void {
    this.#isClosed = true;
    const error = new OffLoopError("closed", "The gateway is stopping.");
    const waiting = [...this.#waiting.values()].flatMap(({ tasks }) => [...tasks]);
    for (const task of [...waiting, ...this.#running.keys()]) this.#settle(task).reject(error);
    for (const thread of this.#threads) this.#end(thread);
  }

  /** Returns a thread without a task, starts one if fewer than the maximum are running, or returns null. */
  #availableThread(): OffLoopThread | null {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (!idle.hasEnded) return idle;
      this.#threads.delete(idle);
    }
    if (this.#threads.size >= this.#options.maxThreads) return null;
    const thread = new OffLoopThread(this.#options.clock);
    this.#threads.add(thread);
    return thread;
  }

  /** The first task of a tenant may wait in the part that others cannot take. */
  #canWait(bytes: number, tenant: string): boolean {
    const { maxWaitingTasks, maxWaitingBytes, maxShare } = this.#options;
    if (this.#waitingCount >= maxWaitingTasks || this.#waitingBytes + bytes > maxWaitingBytes) return false;
    const own = this.#waiting.get(tenant);
    return (
      own === undefined ||
      tenant === "" ||
      (own.tasks.size < maxWaitingTasks * maxShare && own.bytes + bytes <= maxWaitingBytes * maxShare)
    );
  }

  #wait(task: Task): void {
    let own = this.#waiting.get(task.tenant);
    if (own === undefined) this.#waiting.set(task.tenant, (own = { tasks: new Set(), bytes: 0 }));
    own.tasks.add(task);
    own.bytes += task.bytes;
    this.#waitingCount++;
    this.#waitingBytes += task.bytes;
  }

  /** Returns the oldest task of the tenant whose turn it is, and gives the next turn to another one. */
  #takeWaiting(): Task | null {
    const [first] = this.#waiting;
    if (first === undefined) return null;
    const [tenant, own] = first;
    this.#waiting.delete(tenant);
    this.#waiting.set(tenant, own);
    const [task = null] = own.tasks;
    if (task !== null) this.#stopWaiting(task);
    return task;
  }

  async #start(task: Task, thread: OffLoopThread): Promise<void> {
    this.#running.set(task, thread);
    task.startedAt = this.#options.clock.now();
    try {
      const output = await thread.run(task.module, task.input, task.moved);
      this.#finish(task, "completed", () => task.resolve(output));
    } catch (error) {
      this.#finish(task, "failed", () => task.reject(toError(error)));
    }
    if (thread.hasEnded) this.#threads.delete(thread);
    this.#next(thread);
  }

  /** Settles the task, unless it has expired or was aborted while it was running. */
  #finish(task: Task, outcome: "completed" | "failed", settle: () => void): void {
    if (!this.#running.has(task)) return;
    this.#counts[outcome]++;
    this.#settle(task);
    settle();
  }

  /** Gives the thread to the next waiting task. If the thread has ended, another one is started for that task. */
  #next(thread: OffLoopThread): void {
    if (this.#isClosed) return;
    if (this.#waitingCount === 0) {
      if (!thread.hasEnded) this.#rest(thread);
      return;
    }
    const usable = thread.hasEnded ? this.#availableThread() : thread;
    const task = usable === null ? null : this.#takeWaiting();
    if (usable !== null && task !== null) void this.#start(task, usable);
  }

  #rest(thread: OffLoopThread): void {
    this.#idle.push(thread);
    thread.restFor(this.#options.idleMs, () => this.#end(thread));
  }

  #end(thread: OffLoopThread): void {
    this.#threads.delete(thread);
    const index = this.#idle.indexOf(thread);
    if (index >= 0) this.#idle.splice(index, 1);
    thread.end();
  }

  #expire(task: Task, timeoutMs: number): void {
    const thread = this.#running.get(task);
    this.#counts.timed_out++;
    const ranMs = task.startedAt === null ? 0 : this.#options.clock.now() - task.startedAt;
    // The caller may treat a slow task as a property of its input, so do not blame it for the time of others.
    const reason = ranMs < timeoutMs / 2 ? "overloaded" : "timed_out";
    this.#settle(task).reject(
      new OffLoopError(reason, `The body could not be processed within ${timeoutMs} ms.`),
    );
    // The only way to stop JavaScript that is running. Its `#start` continues with the next task.
    if (thread !== undefined) this.#end(thread);
  }

  #abort(task: Task): void {
    if (this.#waiting.get(task.tenant)?.tasks.has(task) === true) this.#settle(task);
    task.reject(abortedError());
  }

  /** Removes a task from all lists. */
  #settle(task: Task): Task {
    task.timer.close();
    this.#stopWaiting(task);
    this.#running.delete(task);
    return task;
  }

  #stopWaiting(task: Task): void {
    const own = this.#waiting.get(task.tenant);
    if (own?.tasks.delete(task) !== true) return;
    own.bytes -= task.bytes;
    if (own.tasks.size === 0) this.#waiting.delete(task.tenant);
    this.#waitingCount--;
    this.#waitingBytes -= task.bytes;
  }
}

function abortedError(): OffLoopError {
  return new OffLoopError("aborted", "The request was aborted.");
}
