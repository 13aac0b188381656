// What the gateway hands to a plugin when it is made: shared counters, blocks, memory that outlives configurations.
import type { Counters } from "../counters/counters.ts";

/** A subject that is refused until an operator lifts the block. */
export interface Block {
  /** Whom it concerns, as the plugin tells it: `per_ip`. */
  readonly type: string;
  readonly subject: string;
}

export interface PluginHost {
  /** The same for this entry of `required_plugins` as long as it exists, whatever else changes. */
  readonly instanceId: string;
  /** These hooks are for one explanation: counters count nothing, blocks are not written, the log keeps silent. */
  readonly isExplaining: boolean;
  /** Exact counters, shared by all nodes where they share a Redis. */
  readonly counters: Counters;
  /** Blocks of this entry: durable, and shared by all nodes. */
  readonly blocks: {
    has(type: string, subject: string): boolean;
    /** `counterKey` is cleared when the block is lifted. */
    add(block: Block, counterKey: string): void;
  };
  /** A value that outlives changes of the configuration: made once, then always the same. */
  keep<T>(name: string, make: () => T): T;
  log(level: "info" | "warn" | "error", message: string, fields?: Readonly<Record<string, unknown>>): void;
}
