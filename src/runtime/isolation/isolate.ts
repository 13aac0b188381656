// One isolate: a worker thread or process that runs the hooks of one plugin for one gateway. Starts it, restarts it with back-off
// after crashes, ends it at the deadline of a call, and bounds the calls that wait.
import type { ClockTimer } from "../../base/clock.ts";
import type { Channel } from "./channel.ts";
import { readContext, type IsolatedContexts } from "./context-data.ts";
import { CrashTimes } from "./crash-times.ts";
import { finishCall } from "./finish-call.ts";
import { HeldCalls } from "./held-calls.ts";
import type { IsolatedInstance } from "./isolated-instance.ts";
import { IdleTimer } from "./idle-timer.ts";
import { IsolateError, LostCall, NOT_BEGUN } from "./isolate-error.ts";
import { LifeSigns } from "./life-signs.ts";
import type { IsolateOptions } from "./isolate-options.ts";
import {
  fromErrorData,
  packetOf,
  type ErrorData,
  type FromIsolate,
  type IsolatedHook,
  type Packet,
} from "./messages.ts";
import { NoteIds } from "./note-ids.ts";
import { CALL_TIMEOUT_MS, RunningCalls } from "./running-calls.ts";
import { responseTo, respondTo } from "./respond-to-question.ts";

/** From the start to the last create(). */
const START_TIMEOUT_MS = 10_000;

export class Isolate {
  readonly options: IsolateOptions;
  readonly #crashes: CrashTimes;
  readonly #instances = new Map<number, IsolatedInstance>();
  readonly #calls: RunningCalls;
  readonly #held: HeldCalls;
  readonly #life: LifeSigns;
  /** It did not react, and will run calls that were repeated elsewhere meanwhile. */
  #runsLostCalls = false;
  hasStarted = false;
  readonly #notes = new NoteIds();
  #channel: Channel | null = null;
  /** Set while the isolate waits to be restarted. */
  #restartTimer: ClockTimer | null = null;
  #startTimer: ClockTimer | null = null;
  readonly #idle: IdleTimer;
  /** Set while the gateway waits for the `stop` hooks. */
  #stopping: PromiseWithResolvers<readonly ErrorData[]> | null = null;
  #isClosed = false;
  #waitingCount = 0;

  constructor(options: IsolateOptions) {
    this.options = options;
    this.#crashes = new CrashTimes(options.clock);
    this.#held = new HeldCalls(options.clock);
    this.#idle = new IdleTimer(options.clock, () => this.#endWhenIdle());
    this.#calls = new RunningCalls(
      options.clock,
      (hook) => this.#crash(`hook ${hook} did not finish within ${CALL_TIMEOUT_MS} ms`),
      (reason, state) => new LostCall(options.isolation, reason, state),
    );
    this.#life = new LifeSigns(options.clock, {
      isNeeded: () => this.#calls.size > 0 && this.#startTimer === null,
      ping: () => this.#channel?.send(packetOf({ type: "ping" })),
      onChange: (isStuck) => {
        this.#runsLostCalls = isStuck && this.#calls.failOthers("another hook keeps it busy");
        options.onChange();
      },
    });
  }

  /** Whether calls can be sent. A plugin that is not started yet is. */
  get isAvailable(): boolean {
    return this.#restartTimer === null && !this.#isClosed && !this.#life.isStuck;
  }
  get isStuck(): boolean {
    return this.#life.isStuck;
  }
  get hasEnded(): boolean {
    return this.#isClosed;
  }

  add(instance: IsolatedInstance): void {
    this.#instances.set(instance.id, instance);
    if (this.options.isExtra) this.#idle.start();
    else if (!instance.isRetired) this.#idle.close();
    if (this.#channel === null) {
      if (this.#restartTimer === null) this.#start();
    } else if (this.#startTimer === null) this.#create(instance);
  }

  /** No new request uses the instance. Requests that are running still may, for as long as the isolate lives. */
  retire(instance: IsolatedInstance): void {
    instance.isRetired = true;
    if ([...this.#instances.values()].every(({ isRetired }) => isRetired)) this.#idle.start();
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
    this.#idle.close();
    this.#end("the gateway stops");
  }

  /** Ends a process that uses more memory than it may. */
  checkMemory(limitBytes: number): void {
    const bytes = this.#channel?.memoryBytes() ?? 0;
    const megabytes = (value: number) => `${Math.round(value / 1024 / 1024)} MB`;
    if (bytes > limitBytes)
      this.#crash(`used ${megabytes(bytes)} of memory; PLUGIN_MEMORY_MB is ${megabytes(limitBytes)}`);
  }

  /** Resolves when the hook has ended and its changes are applied. */
  async call<Hook extends IsolatedHook>(
    instance: IsolatedInstance,
    hook: Hook,
    context: IsolatedContexts[Hook],
  ): Promise<void> {
    const { clock, isolation } = this.options;
    const deadlineAt = clock.now() + CALL_TIMEOUT_MS;
    this.#idle.used();
    if (this.#restartTimer !== null) throw new IsolateError(isolation, "it crashed and is not restarted yet");
    if (this.#isClosed) throw new IsolateError(isolation, "the gateway stops");
    const limit = this.#calls.limitReached(this.#waitingCount, 0);
    if (limit !== null) throw new IsolateError(isolation, limit);
    if (!instance.isReady) {
      this.#waitingCount++;
      try {
        if (this.#channel === null) this.#start();
        await instance.ready();
      } catch (error) {
        if (!(error instanceof IsolateError)) throw error;
        throw new LostCall(isolation, "it ended while it started", NOT_BEGUN);
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
    const { id, promise } = this.#calls.add(instance.id, hook, context, bytes);
    const released = this.#notes.takeReleased();
    if (released.length > 0)
      this.#channel?.send(packetOf({ type: "release", instances: [], notes: released }));
    const notes = this.#notes.idsOf(context);
    const call = { type: "call", call: id, instance: instance.id, hook, ...notes } as const;
    const blobs = data.bytes === null ? [] : [data.bytes];
    this.#channel?.send(packetOf({ ...call, context: data.context }, blobs));
    this.#life.watch();
    return promise;
  }

  #endWhenIdle(): void {
    if (this.#calls.size + this.#held.size > 0) {
      this.#idle.start();
      return;
    }
    this.#end("no entry uses it");
    if (this.options.isExtra) this.close();
    this.options.onChange();
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
    this.#life.seen(message.type === "pong");
    if (message.type === "pong") return;
    if (message.type === "waits") {
      const waiting = this.#calls.get(message.call);
      if (waiting !== undefined) waiting.isWaiting = true;
    } else if (message.type === "done")
      finishCall(this.#calls.take(message.call), message, packet.blobs, {
        notes: this.#notes,
        held: this.#held,
      });
    else if (message.type === "decided") this.#held.decide(message, packet.blobs);
    else if (message.type === "stopped") this.#stopping?.resolve(message.errors);
    else if (message.type === "question")
      respondTo(message, this.#channel, (asked) =>
        responseTo(asked, {
          instances: this.#instances,
          calls: this.#calls,
          held: this.#held,
          runsLostCalls: this.#runsLostCalls,
        }),
      );
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
    this.hasStarted = true;
    this.#startTimer?.close();
    this.#startTimer = null;
  }

  #crash(reason: string): void {
    if (this.#channel === null && this.#startTimer === null) return;
    const { clock, log, plugin, gatewayId, isolation, isExtra, onCrash, onChange } = this.options;
    const delayMs = this.#crashes.add(reason);
    onCrash(reason);
    this.#end(reason);
    const isUsed = [...this.#instances.values()].some(({ isRetired }) => !isRetired);
    const isRestarted = isUsed && !isExtra;
    if (isExtra) {
      this.#isClosed = true;
      this.#idle.close();
    }
    const fields = { plugin, gateway_id: gatewayId, isolation, reason };
    log.error({ ...fields, restart_in_ms: isRestarted ? delayMs : null }, "isolated plugin crashed");
    if (isRestarted && !this.#isClosed) {
      if (delayMs === 0) this.#start();
      else (this.#restartTimer = clock.setTimeout(() => this.#start(), delayMs)).unref();
    }
    onChange();
  }

  /** Ends an isolate that does not react before its deadline, because another one is needed. */
  giveUp(): void {
    this.#crash("it does not react");
  }

  /** Calls that are running, and those that wait for the start, fail. */
  #end(reason: string): void {
    for (const timer of [this.#startTimer, this.#restartTimer]) timer?.close();
    this.#startTimer = this.#restartTimer = null;
    const channel = this.#channel;
    this.#channel = null;
    channel?.end();
    this.#calls.failAll(reason, !this.#life.isStuck);
    this.#life.end();
    this.#runsLostCalls = false;
    const error = new IsolateError(this.options.isolation, reason);
    this.#held.failAll(error);
    this.#stopping?.reject(error);
    for (const instance of this.#instances.values()) instance.ended(error);
  }
}
