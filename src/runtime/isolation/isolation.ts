// Runs plugins in worker threads or processes, if entries of `required_plugins` ask for it. The code that does so is loaded when the first
// entry does: without one, isolation costs nothing.
import type { Clock } from "../../base/clock.ts";
import type { PluginRegistry } from "../../plugins/registry.ts";
import type { PluginHooks } from "../../sdk/index.ts";
import type { Log } from "../../telemetry/log/log.ts";
import type { Isolates } from "./isolates.ts";
import type { IsolationContext, IsolationOrder, RestartCount } from "./isolation-order.ts";
import { resolvePluginUser } from "./plugin-user.ts";

interface IsolationSettings {
  readonly PLUGIN_USER: string | null;
  readonly PLUGIN_MEMORY_MB: number;
}

export class Isolation {
  readonly #context: IsolationContext;
  #isolates: Isolates | null = null;
  /** Orders of instances that are not created yet. */
  #pending: IsolationOrder[] = [];

  /** Throws a SettingsError if processes cannot be started as PLUGIN_USER. */
  constructor(settings: IsolationSettings, registry: PluginRegistry, log: Log, clock: Clock) {
    const user = resolvePluginUser(settings.PLUGIN_USER);
    const memoryBytes = settings.PLUGIN_MEMORY_MB * 1024 * 1024;
    this.#context = { registry, user, memoryBytes, log, clock };
  }

  /**
   * Returns the hooks of an instance that `start` has started. Throws if create() failed or, if `isStrict`, if the isolate crashed
   * meanwhile. It also throws without such an instance: `order` it before.
   */
  hooksFor(order: IsolationOrder, isStrict: boolean): PluginHooks {
    const entry = this.#isolates?.find(order) ?? null;
    if (entry !== null && this.#isolates !== null) return this.#isolates.hooksOf(entry, isStrict);
    throw new Error("the plugin is not started yet");
  }

  /** Makes `start` start the instance, or wait for it, unless it is known whether it can be created. */
  order(order: IsolationOrder): void {
    if (this.#isolates?.find(order)?.instance.hasOutcome !== true) this.#pending.push(order);
  }

  /** Returns hooks for one explanation, which run in an instance of their own. */
  explainHooks(order: IsolationOrder): PluginHooks {
    const entry = this.#isolates?.find(order) ?? null;
    if (entry === null || this.#isolates === null) throw new Error("the plugin is not started yet");
    return this.#isolates.explainHooks(entry, order.host);
  }

  /** Whether ordered instances are missing. */
  get isIncomplete(): boolean {
    return this.#pending.length > 0;
  }

  /** Starts the instances that were ordered, and resolves when it is known whether each can be created. */
  async start(): Promise<void> {
    if (this.#pending.length === 0) return;
    const pending = this.#pending;
    this.#pending = [];
    const module = await import("./isolates.ts");
    const isolates = (this.#isolates ??= new module.Isolates(this.#context));
    await Promise.all(pending.map((order) => isolates.start(order)));
  }

  /** Ends what no chain of a gateway uses any more. */
  retain(gatewayId: string, isUsed: (hooks: PluginHooks) => boolean): void {
    this.#isolates?.retain(gatewayId, isUsed);
  }

  /** Returns the faulty plugins, as `GATEWAY_ID/PLUGIN`, with the reason. */
  faults(): ReadonlyMap<string, string> {
    return this.#isolates?.faults() ?? new Map<string, string>();
  }

  restarts(): readonly RestartCount[] {
    return this.#isolates?.restarts() ?? [];
  }

  /** Calls the `stop` hooks of isolated plugins. Never rejects. */
  async stop(): Promise<void> {
    await this.#isolates?.stop();
  }

  close(): void {
    this.#isolates?.close();
  }
}
