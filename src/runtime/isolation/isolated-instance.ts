// An instance of a plugin in an isolate: its settings, its host in the gateway, and whether its hooks can be called.
import { toError } from "../../base/to-error.ts";
import { supportedHooks } from "../../sdk/hook-table.ts";
import type { PluginHost } from "../../sdk/index.ts";
import { rejectInlineNames } from "./inline-hooks.ts";
import type { IsolatedHook } from "./messages.ts";

type State = "creating" | "loading" | "ready" | "failed";

export class IsolatedInstance {
  readonly id: number;
  readonly instanceId: string;
  /** As they are configured: the isolate parses them. */
  readonly settings: unknown;
  readonly host: PluginHost;
  isRetired = false;
  /** The hooks that create() returned; null if it has not returned yet. */
  hooks: readonly IsolatedHook[] | null = null;
  hasStopHook = false;
  /** Why create() failed, or why the isolate ended before it returned; null if it has not failed. */
  problem: Error | null = null;
  /** Whether the problem is what create() did, and not a crash. */
  isRejected = false;
  #state: State = "creating";
  readonly #firstOutcome = Promise.withResolvers<undefined>();
  #ready = newReady();

  constructor(id: number, instanceId: string, settings: unknown, host: PluginHost) {
    this.id = id;
    this.instanceId = instanceId;
    this.settings = settings;
    this.host = host;
  }

  get isReady(): boolean {
    return this.#state === "ready";
  }
  get isCreating(): boolean {
    return this.#state === "creating";
  }

  /** Whether it is known if the instance can be created. */
  get hasOutcome(): boolean {
    return this.hooks !== null || this.problem !== null;
  }

  /** Resolves when it is known whether the instance can be created. */
  get firstOutcome(): Promise<unknown> {
    return this.#firstOutcome.promise;
  }

  /** Resolves when hooks can be called; rejects if they cannot. */
  ready(): Promise<unknown> {
    return this.#ready.promise;
  }

  /** The isolate starts, for the first time or again. */
  reset(): void {
    if (this.#state === "creating") return;
    this.#state = "creating";
    this.#ready = newReady();
  }

  created(hooks: readonly string[], waits: boolean): void {
    try {
      rejectInlineNames(hooks);
    } catch (error) {
      this.failed(toError(error));
      return;
    }
    this.hooks = supportedHooks("isolated").filter((hook) => hooks.includes(hook));
    this.hasStopHook = hooks.includes("stop");
    this.problem = null;
    this.#firstOutcome.resolve(undefined);
    if (waits) this.#state = "loading";
    else this.loaded(null);
  }

  /** The `ready` promise of the plugin has settled. */
  loaded(error: Error | null): void {
    this.#state = error === null ? "ready" : "failed";
    if (error === null) this.#ready.resolve(undefined);
    else this.#ready.reject(error);
  }

  /** create() threw an error. */
  failed(error: Error): void {
    this.isRejected = true;
    this.ended(error);
  }

  /** The isolate has ended. */
  ended(error: Error): void {
    if (this.hooks === null) this.problem = error;
    this.#state = "failed";
    this.#ready.reject(error);
    this.#firstOutcome.resolve(undefined);
    this.#ready = newReady();
    if (this.isRejected) this.#ready.reject(error);
  }
}

function newReady(): PromiseWithResolvers<undefined> {
  const ready = Promise.withResolvers<undefined>();
  // Without a waiting call, a failure must not become an unhandled rejection.
  ready.promise.catch(() => undefined);
  return ready;
}
