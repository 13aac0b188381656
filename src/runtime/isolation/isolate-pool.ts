// The isolates of one plugin of a gateway. One is enough unless a call makes it crash or hang: then further ones serve the other calls,
// and repeat those that shared the isolate, each alone.
import { CrashTimes } from "./crash-times.ts";
import type { IsolatedContexts } from "./context-data.ts";
import { Isolate } from "./isolate.ts";
import { IsolateError, LostCall } from "./isolate-error.ts";
import { IsolatedInstance } from "./isolated-instance.ts";
import type { IsolateOptions } from "./isolate-options.ts";
import type { ErrorData, IsolatedHook } from "./messages.ts";
import { crashesOf, Quarantines } from "./quarantines.ts";
import { CALL_TIMEOUT_MS } from "./running-calls.ts";

/** Isolates that take new calls. */
const MAX_SHARED = 3;
/** Isolates that repeat calls, one at a time. */
const MAX_LANES = 2;
/** A call that had not begun when its isolate was lost is sent again, but not without end. */
const MAX_LOSSES = 4;
const MAX_WAITING = 1000;
/** After a further isolate has failed to start, no other one is started for this long. */
const FAILED_START_MS = 10_000;

type PoolOptions = Omit<IsolateOptions, "isExtra" | "onChange">;

interface Extra {
  readonly isolate: Isolate;
  /** By the id of the instance. */
  readonly replicas: Map<number, IsolatedInstance>;
  readonly isLane: boolean;
  isBusy: boolean;
}

interface PooledCall<Hook extends IsolatedHook = IsolatedHook> {
  readonly instance: IsolatedInstance;
  readonly hook: Hook;
  readonly context: IsolatedContexts[Hook];
  readonly deadlineAt: number;
}

export class IsolatePool {
  readonly #options: PoolOptions;
  /** Starts with the first instance, and is restarted with back-off. */
  readonly #first: Isolate;
  readonly #instances = new Map<number, IsolatedInstance>();
  #extras: readonly Extra[] = [];
  /** Calls that wait for an isolate. */
  #waiting: (() => void)[] = [];
  /** By the notes of a request: the isolate that has them. */
  readonly #placeOfNotes = new WeakMap<object, Extra>();
  readonly #quarantines: Quarantines;
  readonly #crashes: CrashTimes;
  #noExtraUntil = 0;
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#crashes = new CrashTimes(options.clock);
    this.#quarantines = new Quarantines(options.plugin, options.clock);
    this.#first = this.#open(false);
  }

  /** Why the plugin is faulty; null if it is not. */
  get fault(): string | null {
    return this.#crashes.fault;
  }

  add(instance: IsolatedInstance): void {
    this.#instances.set(instance.id, instance);
    this.#first.add(instance);
  }

  retire(instance: IsolatedInstance): void {
    this.#first.retire(instance);
  }

  remove(instance: IsolatedInstance): void {
    this.#instances.delete(instance.id);
    for (const { isolate, replicas } of this.#extras) {
      const replica = replicas.get(instance.id);
      if (replica !== undefined) isolate.remove(replica);
      replicas.delete(instance.id);
    }
    if (![...this.#instances.values()].some(({ instanceId }) => instanceId === instance.instanceId))
      this.#quarantines.forget(instance.instanceId);
    this.#first.remove(instance);
  }

  /** Calls the `stop` hooks. Resolves to their errors; rejects if an isolate ends before they do. */
  async stop(): Promise<readonly ErrorData[]> {
    this.#isClosed = true;
    const stopping = [this.#first, ...this.#extras.map(({ isolate }) => isolate)].map((each) => each.stop());
    return (await Promise.all(stopping)).flat();
  }

  close(): void {
    this.#isClosed = true;
    this.#first.close();
    for (const { isolate } of this.#extras) isolate.close();
    this.#extras = [];
    this.#changed();
  }

  checkMemory(limitBytes: number): void {
    this.#first.checkMemory(limitBytes);
    for (const { isolate } of this.#extras) isolate.checkMemory(limitBytes);
  }

  /** Calls a hook of an instance that only this call uses. */
  async explain(instance: IsolatedInstance, context: IsolatedContexts["pre_request"]): Promise<void> {
    instance.isRetired = true;
    this.#first.add(instance);
    try {
      await this.#first.call(instance, "pre_request", context);
    } finally {
      this.#first.remove(instance);
    }
  }

  /** Resolves when the hook has ended and its changes are applied. */
  async call<Hook extends IsolatedHook>(
    instance: IsolatedInstance,
    hook: Hook,
    context: IsolatedContexts[Hook],
  ): Promise<void> {
    const deadlineAt = this.#options.clock.now() + CALL_TIMEOUT_MS;
    const pooled = { instance, hook, context, deadlineAt };
    if (this.#quarantines.check(pooled)) {
      await this.#repeat(pooled, null, true);
      this.#quarantines.clear(pooled);
      return;
    }
    let lost: LostCall | null = null;
    if (this.#first.isAvailable && this.#placeFor(context) === this.#first)
      try {
        await this.#first.call(instance, hook, context);
        return;
      } catch (error) {
        if (!(error instanceof LostCall)) throw error;
        lost = error;
      }
    await this.#repeat(pooled, lost, false);
  }

  /**
   * Runs a call until it ends, or is known to be why an isolate was lost. `lost`: how it has ended so far. `startsAlone`: it may be why an
   * isolate was lost before.
   */
  async #repeat(call: PooledCall, lost: LostCall | null, startsAlone: boolean): Promise<void> {
    let last = lost;
    let isAlone = startsAlone;
    for (let losses = 0; losses < MAX_LOSSES; losses++) {
      if (last?.state.hasBegun === true) {
        // It waited for something slow, and its time is over.
        if (last.state.isSlow) throw last;
        const crashes = crashesOf(last.state, isAlone, this.#options.clock.now() >= call.deadlineAt);
        if (crashes !== null) throw this.#quarantines.blame(call, last, crashes);
        isAlone = true;
      }
      try {
        await (isAlone ? this.#runAlone(call) : this.#runShared(call));
        return;
      } catch (error) {
        if (!(error instanceof LostCall)) throw error;
        last = error;
      }
    }
    throw last ?? new IsolateError(this.#options.isolation, "it crashed too often");
  }

  async #runShared(call: PooledCall): Promise<void> {
    const place = await this.#waitFor(call, () => this.#availablePlace(call.context));
    if (place instanceof Isolate) await place.call(call.instance, call.hook, call.context);
    else await this.#callIn(place, call);
  }

  async #runAlone(call: PooledCall): Promise<void> {
    const lane = await this.#waitFor(call, () => this.#takeLane());
    try {
      await this.#callIn(lane, call);
    } finally {
      lane.isBusy = false;
      this.#changed();
    }
  }

  async #callIn(extra: Extra, { instance, hook, context }: PooledCall): Promise<void> {
    this.#placeOfNotes.set(context.notes, extra);
    const replica = extra.replicas.get(instance.id) ?? this.#replicate(extra, instance);
    await extra.isolate.call(replica, hook, context);
  }

  /** Returns the isolate with the notes of the request, or the first one. */
  #placeFor({ notes }: IsolatedContexts[IsolatedHook]): Extra | Isolate {
    const place = this.#placeOfNotes.get(notes);
    return place?.isolate.isAvailable === true ? place : this.#first;
  }

  /** Returns null if all isolates are restarted, or do not react, and there can be no further one. */
  #availablePlace(context: IsolatedContexts[IsolatedHook]): Extra | Isolate | null {
    const place = this.#placeFor(context);
    if (place !== this.#first || this.#first.isAvailable) return place;
    const shared = this.#extras.filter(({ isLane }) => !isLane);
    const available = shared.find(({ isolate }) => isolate.isAvailable);
    if (available !== undefined) return available;
    if (!this.#mayStart) return null;
    if (shared.length < MAX_SHARED - 1) return this.#openExtra(false);
    // Its call fails before its deadline, so that the others are served.
    const stuck = shared.find(({ isolate }) => isolate.isStuck);
    stuck?.isolate.giveUp();
    return stuck === undefined ? null : this.#openExtra(false);
  }

  /** Returns null if no lane is free. */
  #takeLane(): Extra | null {
    const lanes = this.#extras.filter(({ isLane }) => isLane);
    const free = lanes.find(({ isBusy, isolate }) => !isBusy && isolate.isAvailable);
    const lane = free ?? (this.#mayStart && lanes.length < MAX_LANES ? this.#openExtra(true) : null);
    if (lane !== null) lane.isBusy = true;
    return lane;
  }

  get #mayStart(): boolean {
    return this.#options.clock.now() >= this.#noExtraUntil;
  }

  async #waitFor<Place>({ deadlineAt }: PooledCall, find: () => Place | null): Promise<Place> {
    const { clock, isolation } = this.#options;
    for (;;) {
      if (this.#isClosed) throw new IsolateError(isolation, "the gateway stops");
      const place = find();
      if (place !== null) return place;
      const left = deadlineAt - clock.now();
      if (left <= 0) throw new IsolateError(isolation, "no other one was free in time");
      if (clock.now() < this.#noExtraUntil)
        throw new IsolateError(isolation, "it crashed and is not restarted yet");
      if (this.#waiting.length >= MAX_WAITING)
        throw new IsolateError(isolation, `${MAX_WAITING} calls wait already`);
      const changed = Promise.withResolvers<undefined>();
      const timer = clock.setTimeout(() => changed.resolve(undefined), left);
      timer.unref();
      this.#waiting.push(() => changed.resolve(undefined));
      await changed.promise;
      timer.close();
    }
  }

  #openExtra(isLane: boolean): Extra {
    const extra: Extra = { isolate: this.#open(true), replicas: new Map(), isLane, isBusy: false };
    this.#extras = [...this.#extras, extra];
    return extra;
  }

  #replicate(
    { isolate, replicas }: Extra,
    { id, instanceId, settings, host }: IsolatedInstance,
  ): IsolatedInstance {
    const replica = new IsolatedInstance(id, instanceId, settings, host);
    replicas.set(id, replica);
    isolate.add(replica);
    return replica;
  }

  #open(isExtra: boolean): Isolate {
    const { onCrash, onUnused } = this.#options;
    const isolate: Isolate = new Isolate({
      ...this.#options,
      isExtra,
      onCrash: (reason) => {
        this.#crashes.add(reason);
        onCrash(reason);
        if (isExtra && !isolate.hasStarted) this.#noExtraUntil = this.#options.clock.now() + FAILED_START_MS;
      },
      onUnused: () => {
        if (isExtra) return;
        this.#isClosed = true;
        for (const extra of this.#extras) extra.isolate.close();
        onUnused();
      },
      onChange: () => this.#changed(),
    });
    return isolate;
  }

  /** Forgets isolates that have ended, and lets waiting calls look for one again. */
  #changed(): void {
    this.#extras = this.#extras.filter(({ isolate }) => !isolate.hasEnded);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const look of waiting) look();
  }
}
