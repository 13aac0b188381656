// One isolate: a worker thread or process that runs the hooks of one plugin for one gateway. Starts it, restarts it with back-off
// after crashes, ends it at the deadline of a call, and bounds the calls that wait.
import type { ClockTimer } from "../../base/clock.ts";
import { applyEffects, applyReports } from "./apply-effects.ts";
import { askHost } from "./ask-host.ts";
import type { Channel } from "./channel.ts";
import { askContext, readContext, type IsolatedContexts } from "./context-data.ts";
import { CrashTimes } from "./crash-times.ts";
import { HeldCalls } from "./held-calls.ts";
import type { IsolatedInstance } from "./isolated-instance.ts";
import { IsolateError } from "./isolate-error.ts";
import type { IsolateOptions } from "./isolate-options.ts";
import {
  fromErrorData,
  packetOf,
  type ErrorData,
  type FromIsolate,
  type IsolatedHook,
  type Packet,
  type Question,
} from "./messages.ts";
import { NoteIds } from "./note-ids.ts";
import { CALL_TIMEOUT_MS, RunningCalls } from "./running-calls.ts";
import { respondTo } from "./respond-to-question.ts";

/** From the start to the last create(). */
const START_TIMEOUT_MS = 10_000;
/** Without an entry that uses the plugin, the isolate ends after this long without a call. */
const IDLE_MS = 60_000;

export class Isolate {
  readonly options: IsolateOptions;
  readonly #crashes: CrashTimes;
  readonly #instances = new Map<number, IsolatedInstance>();
  readonly #calls: RunningCalls;
  readonly #held: HeldCalls;
  readonly #notes = new NoteIds();
  #channel: Channel | null = null;
  /** Set while the isolate waits to be restarted. */
  #restartTimer: ClockTimer | null = null;
  #startTimer: ClockTimer | null = null;
  #idleTimer: ClockTimer | null = null;
  /** Set while the gateway waits for the `stop` hooks. */
  #stopping: PromiseWithResolvers<readonly ErrorData[]> | null = null;
  #isClosed = false;
  #waitingCount = 0;
  #lastCallAt = 0;

  constructor(options: IsolateOptions) {
    this.options = options;
    this.#crashes = new CrashTimes(options.clock);
    this.#held = new HeldCalls(options.clock);
    this.#calls = new RunningCalls(options.clock, (hook) =>
      this.#crash(`hook ${hook} did not finish within ${CALL_TIMEOUT_MS} ms`),
    );
  }

  /** Why the plugin is faulty; null if it is not. */
  get fault(): string | null {
    return this.#crashes.fault;
  }

  add(instance: IsolatedInstance): void {
    this.#instances.set(instance.id, instance);
    if (!instance.isRetired) {
      this.#idleTimer?.close();
      this.#idleTimer = null;
    }
    if (this.#channel === null) {
      if (this.#restartTimer === null) this.#start();
    } else if (this.#startTimer === null) this.#create(instance);
  }

  /** No new request uses the instance. Requests that are running still may, for as long as the isolate lives. */
  retire(instance: IsolatedInstance): void {
    instance.isRetired = true;
    if ([...this.#instances.values()].some(({ isRetired }) => !isRetired)) return;
    this.#idleTimer ??= this.#endWhenIdle(IDLE_MS);
  }

  remove(instance: IsolatedInstance): void {
    if (!this.#instances.delete(instance.id)) return;
    if (this.#instances.size === 0) {
      this.close();
      this.options.onUnused();
    }
    this.#channel?.send(packetOf({ type: "release", instances: [instance.id], notes: [] }));
  }

  /** Calls the `stop` hooks of instances in use. Resolves to their errors; rejects if the isolate ends before they do. */
  async stop(): Promise<readonly ErrorData[]> {
    this.#isClosed = true;
    const isStopped = ({ isRetired, hasStopHook, isReady }: IsolatedInstance) =>
      !isRetired && hasStopHook && isReady;
    const instances = [...this.#instances.values()].filter(isStopped).map(({ id }) => id);
    if (this.#channel === null || instances.length === 0) return [];
    this.#stopping = Promise.withResolvers();
    this.#channel.send(packetOf({ type: "stop", instances }));
    return this.#stopping.promise;
  }

  close(): void {
    this.#isClosed = true;
    this.#idleTimer?.close();
    this.#end("the gateway stops");
  }

  /** Ends a process that uses more memory than it may. */
  checkMemory(limitBytes: number): void {
    const bytes = this.#channel?.memoryBytes() ?? 0;
    if (bytes <= limitBytes) return;
    const megabytes = (value: number) => Math.round(value / 1024 / 1024);
    this.#crash(
      `used ${megabytes(bytes)} MB of memory; the limit is ${megabytes(limitBytes)} (PLUGIN_MEMORY_MB)`,
    );
  }

  /** Resolves when the hook has ended and its changes are applied. */
  async call<Hook extends IsolatedHook>(
    instance: IsolatedInstance,
    hook: Hook,
    context: IsolatedContexts[Hook],
  ): Promise<void> {
    const { clock, isolation } = this.options;
    const deadlineAt = clock.now() + CALL_TIMEOUT_MS;
    this.#lastCallAt = clock.now();
    if (this.#restartTimer !== null) throw new IsolateError(isolation, "it crashed and is not restarted yet");
    if (this.#isClosed) throw new IsolateError(isolation, "the gateway stops");
    const limit = this.#calls.limitReached(this.#waitingCount, 0);
    if (limit !== null) throw new IsolateError(isolation, limit);
    if (!instance.isReady) {
      this.#waitingCount++;
      try {
        if (this.#channel === null) this.#start();
        await instance.ready();
      } finally {
        this.#waitingCount--;
      }
      if (clock.now() >= deadlineAt) throw new IsolateError(isolation, "it was not ready in time");
    }
    await this.#send(instance, hook, context);
  }

  #send<Hook extends IsolatedHook>(
    instance: IsolatedInstance,
    hook: Hook,
    context: IsolatedContexts[Hook],
  ): Promise<undefined> {
    const data = readContext(hook, context);
    const bytes = data.bytes?.byteLength ?? 0;
    const limit = this.#calls.limitReached(0, bytes);
    if (limit !== null) throw new IsolateError(this.options.isolation, limit);
    const { id, promise } = this.#calls.add(hook, context, bytes);
    const released = this.#notes.takeReleased();
    if (released.length > 0)
      this.#channel?.send(packetOf({ type: "release", instances: [], notes: released }));
    const notes = this.#notes.idOf(context.notes);
    const call = {
      type: "call",
      call: id,
      instance: instance.id,
      hook,
      notes,
      context: data.context,
    } as const;
    this.#channel?.send(packetOf(call, data.bytes === null ? [] : [data.bytes]));
    return promise;
  }

  #endWhenIdle(ms: number): ClockTimer {
    const timer = this.options.clock.setTimeout(() => {
      this.#idleTimer = null;
      const left = this.#lastCallAt + IDLE_MS - this.options.clock.now();
      if (left > 0 || this.#calls.size + this.#held.size > 0)
        this.#idleTimer = this.#endWhenIdle(Math.max(left, 1000));
      else this.#end("no entry uses it");
    }, ms);
    timer.unref();
    return timer;
  }

  #start(): void {
    const { clock, open, load } = this.options;
    this.#restartTimer?.close();
    this.#restartTimer = null;
    for (const instance of this.#instances.values()) instance.reset();
    this.#startTimer = clock.setTimeout(
      () => this.#crash(`not started within ${START_TIMEOUT_MS} ms`),
      START_TIMEOUT_MS,
    );
    this.#startTimer.unref();
    try {
      this.#channel = open({
        onPacket: (packet) => this.#onPacket(packet),
        onEnd: (reason) => this.#crash(reason),
      });
      this.#channel.send(load);
    } catch (error) {
      this.#crash(error instanceof Error ? error.message : String(error));
    }
  }

  #create({ id, instanceId, settings, host: { isExplaining } }: IsolatedInstance): void {
    this.#channel?.send(packetOf({ type: "create", instance: id, instanceId, settings, isExplaining }));
  }

  #onPacket(packet: Packet): void {
    // From code that is not trusted to keep to the protocol: what is missing is an error of the call, or ignored.
    const message = JSON.parse(packet.text) as FromIsolate;
    if (message.type === "done") this.#finish(message, packet.blobs);
    else if (message.type === "decided") this.#held.decide(message, packet.blobs);
    else if (message.type === "stopped") this.#stopping?.resolve(message.errors);
    else if (message.type === "question")
      respondTo(message, this.#channel, (asked) => this.#responseTo(asked));
    else if (message.type === "loaded")
      for (const instance of this.#instances.values()) this.#create(instance);
    else if (message.type === "not_loaded") this.#crash(`not loaded: ${message.error.message}`);
    else {
      const instance = this.#instances.get(message.instance);
      if (message.type === "created") instance?.created(message.hooks, message.waits);
      else if (message.type === "not_created") instance?.failed(fromErrorData(message.error));
      else instance?.loaded(message.error === null ? null : fromErrorData(message.error));
      if ([...this.#instances.values()].every(({ isCreating }) => !isCreating)) this.#endStart();
    }
  }

  #endStart(): void {
    this.#startTimer?.close();
    this.#startTimer = null;
  }

  #finish(message: Extract<FromIsolate, { type: "done" }>, blobs: readonly Uint8Array[]): void {
    const running = this.#calls.take(message.call);
    if (running === undefined) return;
    const { hook, context, settled } = running;
    try {
      if (message.hasNotes) this.#notes.watch(context.notes);
      if (message.error === null) applyEffects(hook, context, message.effects, blobs);
      else applyReports(context, message.effects);
      if (message.isHeld && "holdResponse" in context) this.#held.hold(message.call, context);
    } catch (error) {
      settled.reject(error);
      return;
    }
    if (message.error === null) settled.resolve(undefined);
    else settled.reject(fromErrorData(message.error));
  }

  #responseTo({ instance, call, method, args }: Question): unknown {
    if (call !== 0) {
      const context = this.#calls.get(call)?.context ?? this.#held.contextOf(call);
      if (context === undefined) throw new Error("the hook has ended");
      return askContext(context, method, args);
    }
    const asking = this.#instances.get(instance);
    if (asking === undefined) throw new Error("the instance is released");
    return askHost(asking.host, method, args);
  }

  #crash(reason: string): void {
    if (this.#channel === null && this.#startTimer === null) return;
    const { clock, log, plugin, gatewayId, isolation, onCrash } = this.options;
    const delayMs = this.#crashes.add(reason);
    onCrash();
    this.#end(reason);
    const isUsed = [...this.#instances.values()].some(({ isRetired }) => !isRetired);
    const fields = { plugin, gateway_id: gatewayId, isolation, reason };
    log.error({ ...fields, restart_in_ms: isUsed ? delayMs : null }, "isolated plugin crashed");
    if (this.#isClosed || !isUsed) return;
    if (delayMs === 0) this.#start();
    else {
      this.#restartTimer = clock.setTimeout(() => this.#start(), delayMs);
      this.#restartTimer.unref();
    }
  }

  /** Calls that are running, and those that wait for the start, fail. */
  #end(reason: string): void {
    for (const timer of [this.#startTimer, this.#restartTimer]) timer?.close();
    this.#startTimer = this.#restartTimer = null;
    const channel = this.#channel;
    this.#channel = null;
    channel?.end();
    const error = new IsolateError(this.options.isolation, reason);
    this.#calls.failAll(error);
    this.#held.failAll(error);
    this.#stopping?.reject(error);
    for (const instance of this.#instances.values()) instance.ended(error);
  }
}
