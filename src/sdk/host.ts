// The services that the gateway passes to a plugin's create(): shared counters, blocks, and values that outlive a
// configuration change.
import type { TextMemory } from "../base/text-memories.ts";
import type { TaskLimits, TaskModule } from "../off-loop/off-loop.ts";
import type { ClaimDecision, LimitClaim } from "./claims.ts";
import type { Counters } from "./counters.ts";
import type { ResponseStore, ResponseStoreLimits } from "./reuse.ts";

/** A subject whose requests are rejected until the block expires or an operator removes it. */
export interface Block {
  /** The kind of subject, in the plugin's own terms: `per_ip`. */
  readonly type: string;
  readonly subject: string;
  /** Without it, the block does not expire. */
  readonly durationMs?: number | undefined;
}

export interface PluginHost {
  /** Identifies this entry of `required_plugins`. Stays the same for as long as the entry exists. */
  readonly instanceId: string;
  /** The hooks run for `gatehouse explain`: counters do not count, blocks are not stored, nothing is logged. */
  readonly isExplaining: boolean;
  /** Exact counters. All nodes that use the same Redis share them. Prefer the `claims` hook. */
  readonly counters: Counters;
  /**
   * For `before_body`: returns the state of each claim if this process knows without waiting that one does not fit, else null.
   * Reserves nothing. Use an amount of 1 for tokens.
   */
  knownRefusal(claims: readonly LimitClaim[]): ClaimDecision | null;
  /** Blocks of this entry. They are durable, and all nodes share them. */
  readonly blocks: {
    has(type: string, subject: string): boolean;
    /**
     * Returns whether the subject is blocked: false if the gateway has as many blocks of this type as it may have
     * (MAX_BLOCKS). `counterKey` is the counter that is cleared when an operator removes the block.
     */
    add(block: Block, counterKey: string): boolean;
  };
  /**
   * Runs a task in a worker thread: work of more than a few milliseconds would delay all other requests. `module` is the URL of a
   * module that exports `run(input)`. Rejects with the error of `run`, or with an OffLoopError if the task could not be completed.
   * `timeoutMs` should be below 5000: then a hook fails.
   */
  readonly runOffLoop: <Module extends TaskModule>(
    module: URL,
    input: Parameters<Module["run"]>[0],
    limits: TaskLimits,
  ) => Promise<Awaited<ReturnType<Module["run"]>>>;
  /** Returns the value with this name. `make` runs only the first time; configuration changes do not drop the value. */
  keep<T>(name: string, make: () => T): T;
  /**
   * Returns a memory for results of this plugin about texts, such as "nothing found" or a number of tokens, so that a text that is sent
   * again need not be processed again. It is empty at first, and every instance of a plugin has its own: nothing is remembered across gateways,
   * changed settings or changed code. `version` names what else the results depend on, such as a list that the plugin
   * loads again while it runs. Old results are dropped to make space: a gateway remembers at most 65,536.
   */
  textMemory(version?: string): TextMemory;
  /** Opens the store for responses of this entry, which `context.reuse` of the hook `final_request` uses. It outlives configurations. */
  openResponses(limits: ResponseStoreLimits): ResponseStore;
  log(level: "info" | "warn" | "error", message: string, fields?: Readonly<Record<string, unknown>>): void;
}
