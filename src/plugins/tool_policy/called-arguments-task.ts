// Decides about the call in a large message of an MCP client in a worker thread.
import { calledArguments } from "./called-arguments.ts";
import { Policy, type Action } from "./policy.ts";
import type { ToolPolicySettings } from "./settings.ts";

interface Input {
  readonly settings: ToolPolicySettings;
  readonly body: Uint8Array;
  readonly tool: string;
}

export function run({ settings, body, tool }: Input): Action | null {
  return new Policy(settings).decide("called", tool, calledArguments(body));
}
