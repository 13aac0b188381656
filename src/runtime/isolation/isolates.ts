// All isolates of this process: a pool per plugin, gateway and kind of isolation, with the instances of the entries that use it.
import type { ClockTimer } from "../../base/clock.ts";
import { withTimeout } from "../../base/with-timeout.ts";
import { HOOKS, supportedHooks } from "../../sdk/hook-table.ts";
import type { PluginHooks, PluginHost, RequestContext } from "../../sdk/index.ts";
import type { IsolatedContexts } from "./context-data.ts";
import { IsolatePool } from "./isolate-pool.ts";
import { IsolatedInstance } from "./isolated-instance.ts";
import type { IsolationContext, IsolationOrder, RestartCount } from "./isolation-order.ts";
import { fromErrorData, packetOf, type IsolatedHook } from "./messages.ts";
import { openProcess } from "./process-channel.ts";
import { openWorker } from "./worker-channel.ts";

/** How often the memory of processes is read. */
const MEMORY_CHECK_MS = 100;
/** How long requests may use the instance of an entry after it was changed or removed. */
const RETIRED_MS = 3_600_000;
/** How long a stopping process waits for the `stop` hooks. */
const STOP_DEADLINE_MS = 5000;

export interface IsolatedEntry {
  readonly order: IsolationOrder;
  readonly settingsText: string;
  readonly isolate: IsolatePool;
  readonly instance: IsolatedInstance;
  /** Null until it is known which hooks there are. */
  hooks: PluginHooks | null;
}

interface StartedIsolate {
  readonly order: IsolationOrder;
  readonly isolate: IsolatePool;
}

export class Isolates {
  readonly #context: IsolationContext;
  /** By gateway id. */
  readonly #entries = new Map<string, Set<IsolatedEntry>>();
  readonly #isolates = new Set<StartedIsolate>();
  readonly #restarts = new Map<string, RestartCount>();
  #memoryTimer: ClockTimer | null = null;
  #lastInstance = 0;

  constructor(context: IsolationContext) {
    this.#context = context;
  }

  find({ gatewayId, instanceId, definition, settings, isolation }: IsolationOrder): IsolatedEntry | null {
    const text = JSON.stringify(settings);
    for (const entry of this.#entries.get(gatewayId) ?? []) {
      const { order, settingsText } = entry;
      const isSame = order.instanceId === instanceId && order.definition === definition;
      if (isSame && order.isolation === isolation && settingsText === text) return entry;
    }
    return null;
  }

  async start(order: IsolationOrder): Promise<void> {
    const known = this.find(order);
    const entry = known ?? this.#add(order);
    await entry.instance.firstOutcome;
  }

  #add(order: IsolationOrder): IsolatedEntry {
    const { gatewayId, instanceId, settings, host } = order;
    const isolate = this.#isolateFor(order);
    const instance = new IsolatedInstance(++this.#lastInstance, instanceId, settings, host);
    const entry: IsolatedEntry = {
      order,
      settingsText: JSON.stringify(settings),
      isolate,
      instance,
      hooks: null,
    };
    const entries = this.#entries.get(gatewayId) ?? new Set();
    this.#entries.set(gatewayId, entries.add(entry));
    isolate.add(instance);
    return entry;
  }

  hooksOf(entry: IsolatedEntry, isStrict: boolean): PluginHooks {
    const { instance, order, isolate } = entry;
    if (instance.problem !== null && (instance.isRejected || isStrict)) {
      this.#remove(entry);
      throw instance.problem;
    }
    // Without a first start, the hooks are those that the entry may have.
    const names = instance.hooks ?? supportedHooks("isolated").filter((hook) => mayHave(order, hook));
    return (entry.hooks ??= callingHooks(names, isolate, instance));
  }

  explainHooks({ isolate, order }: IsolatedEntry, host: PluginHost): PluginHooks {
    const pre_request = (context: RequestContext) => {
      const instance = new IsolatedInstance(++this.#lastInstance, order.instanceId, order.settings, host);
      return isolate.explain(instance, context);
    };
    return { pre_request };
  }

  retain(gatewayId: string, isUsed: (hooks: PluginHooks) => boolean): void {
    const entries = this.#entries.get(gatewayId);
    for (const entry of entries ?? []) {
      if (entry.hooks !== null && isUsed(entry.hooks)) continue;
      entries?.delete(entry);
      const { isolate, instance } = entry;
      isolate.retire(instance);
      this.#context.clock.setTimeout(() => isolate.remove(instance), RETIRED_MS).unref();
    }
    if (entries?.size === 0) this.#entries.delete(gatewayId);
  }

  faults(): ReadonlyMap<string, string> {
    const faults = new Map<string, string>();
    for (const { order, isolate } of this.#isolates) {
      const { fault } = isolate;
      if (fault !== null) faults.set(`${order.gatewayId}/${order.definition.name}`, fault);
    }
    return faults;
  }

  restarts(): readonly RestartCount[] {
    return [...this.#restarts.values()];
  }

  /** Calls the `stop` hooks of all plugins. Resolves when they have ended, or after the deadline; never rejects. */
  async stop(): Promise<void> {
    await Promise.all([...this.#isolates].map((stopped) => this.#stopIsolate(stopped)));
  }

  async #stopIsolate({ order: { definition, isolation }, isolate }: StartedIsolate): Promise<void> {
    const { clock, log } = this.#context;
    const fail = (err: unknown) =>
      log.warn(
        { plugin: definition.name, isolation, err },
        "plugin failed to stop; what it has not written is lost",
      );
    try {
      const onTimeout = () => new Error(`The plugin did not stop within ${STOP_DEADLINE_MS} ms.`);
      const errors = await withTimeout(STOP_DEADLINE_MS, isolate.stop(), onTimeout, clock);
      for (const error of errors) fail(fromErrorData(error));
    } catch (error) {
      fail(error);
    }
  }

  close(): void {
    this.#memoryTimer?.close();
    for (const { isolate } of this.#isolates) isolate.close();
    this.#isolates.clear();
  }

  #isolateFor(order: IsolationOrder): IsolatePool {
    for (const known of this.#isolates) {
      const { gatewayId, definition, isolation, isShadow } = known.order;
      const isSame = gatewayId === order.gatewayId && definition === order.definition;
      if (isSame && isolation === order.isolation && isShadow === order.isShadow) return known.isolate;
    }
    const { definition, gatewayId, isolation } = order;
    const { registry, user, clock, log } = this.#context;
    const source = registry.sourceOf(definition);
    const load = packetOf(
      { type: "load", builtin: source === null ? definition.name : null },
      source === null ? [] : [Buffer.from(source)],
    );
    const added = {
      order,
      isolate: new IsolatePool({
        plugin: definition.name,
        gatewayId,
        isolation,
        open: isolation === "worker" ? openWorker : (events) => openProcess(user, events),
        load,
        clock,
        log,
        onCrash: () => this.#count(definition.name, isolation),
        onUnused: () => void this.#isolates.delete(added),
      }),
    };
    this.#isolates.add(added);
    if (isolation === "process") this.#watchMemory();
    return added.isolate;
  }

  #remove(entry: IsolatedEntry): void {
    this.#entries.get(entry.order.gatewayId)?.delete(entry);
    entry.isolate.remove(entry.instance);
  }

  #watchMemory(): void {
    if (this.#memoryTimer !== null) return;
    const { clock, memoryBytes } = this.#context;
    this.#memoryTimer = clock.setInterval(() => {
      for (const { isolate } of this.#isolates) isolate.checkMemory(memoryBytes);
    }, MEMORY_CHECK_MS);
    this.#memoryTimer.unref();
  }

  #count(plugin: string, isolation: string): void {
    const key = `${isolation} ${plugin}`;
    const count = (this.#restarts.get(key)?.count ?? 0) + 1;
    this.#restarts.set(key, { plugin, isolation, count });
  }
}

function mayHave({ definition }: IsolationOrder, hook: IsolatedHook): boolean {
  if (HOOKS[hook].mayHoldText && definition.needs?.includes("text") !== true) return false;
  return HOOKS[hook].stages.some((stage) => definition.stages.includes(stage));
}

function callingHooks(
  names: readonly IsolatedHook[],
  isolate: IsolatePool,
  instance: IsolatedInstance,
): PluginHooks {
  const call = <Hook extends IsolatedHook>(hook: Hook) => [
    hook,
    (context: IsolatedContexts[Hook]) => isolate.call(instance, hook, context),
  ];
  const hooks = Object.fromEntries(names.map((hook) => call(hook))) as PluginHooks;
  return instance.isReady ? hooks : { ...hooks, ready: instance.ready() };
}
