// What the data plane needs to know about pinned tool definitions, and what it reports about them.
import type { JsonObject } from "../base/json.ts";
import type { McpServerTarget } from "./server-target.ts";

export interface SeenTool {
  /** The name that the server uses. */
  readonly name: string;
  readonly hash: string;
  readonly definition: JsonObject;
}

export interface ToolPins {
  /** Reports the definitions that a server has listed. Returns at once. */
  observe(gatewayId: string, server: McpServerTarget, tools: readonly SeenTool[]): void;
  /** What is known about a tool, by the name that the server uses; null if no list with it has been seen. */
  statusOf(serverId: string, name: string): "approved" | "changed" | null;
  /** Whether a tool with this definition is not offered, because it has changed and is not approved. */
  isWithheld(gatewayId: string, server: McpServerTarget, name: string, hash: string): boolean;
}
