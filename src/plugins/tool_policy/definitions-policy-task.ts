// Decides about a large list of an MCP server in a worker thread.
import { decideDefinitions, type DefinitionsVerdict } from "./definitions-policy.ts";
import { Policy } from "./policy.ts";
import type { ToolPolicySettings } from "./settings.ts";

interface Input {
  readonly settings: ToolPolicySettings;
  readonly text: string;
  readonly method: string;
}

export function run({ settings, text, method }: Input): DefinitionsVerdict {
  return decideDefinitions(text, method, new Policy(settings));
}
