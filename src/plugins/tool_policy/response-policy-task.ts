// Decides about a large text of a response in a worker thread.
import { Policy, type Action } from "./policy.ts";
import { decideText, type ToolText } from "./response-policy.ts";
import type { ToolPolicySettings } from "./settings.ts";

interface Input {
  readonly settings: ToolPolicySettings;
  readonly given: ToolText;
}

export function run({ settings, given }: Input): Action | null {
  return decideText(new Policy(settings), given);
}
