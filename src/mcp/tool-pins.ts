// What the data plane needs to know about pinned tool definitions, and what it reports about them.
import type { McpServerTarget } from "./server-target.ts";

export interface SeenTool {
  /** The name that the server uses. */
  readonly name: string;
  readonly hash: string;
  /** An object, or its JSON. */
  readonly definition: object | string;
}

export interface ListedTools {
  readonly tools: readonly SeenTool[];
  /** Bytes that the list takes in memory. */
  readonly memory: number;
}

/**
 * `new`: the tool was not in the first list of its server, or looks like another one, and was never approved.
 */
export type ToolStatus = "approved" | "changed" | "new";

export interface ToolPins {
  /**
   * Reports the definitions that a server has listed. Returns a promise if they have to be known before tools
   * are offered: for the first list of a server with `pin: hold`. The promise does not reject.
   */
  observe(gatewayId: string, server: McpServerTarget, list: ListedTools): Promise<void> | void;
  /** What is known about a tool, by the name that the server uses; null if no list with it has been seen. */
  statusOf(serverId: string, name: string): ToolStatus | null;
  /** Whether a tool with this definition is not offered, because it is not the approved one. */
  isWithheld(server: McpServerTarget, name: string, hash: string): boolean;
}
