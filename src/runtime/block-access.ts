// The blocks of plugins as the host of a plugin uses them.
import type { Block } from "../sdk/host.ts";

/** Blocks as plugins use them; see blocks.ts. */
export interface BlockAccess {
  has(instanceId: string, type: string, subject: string): boolean;
  /** Returns whether the subject is blocked. */
  add(instanceId: string, block: Block, counterKey: string): boolean;
  /** Returns what `add` would return, without blocking the subject. */
  canAdd(instanceId: string, block: Block): boolean;
}
