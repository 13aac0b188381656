// Applies a policy to a large request in a worker thread.
import { Policy } from "./policy.ts";
import { applyToRequest, type RequestVerdict } from "./request-policy.ts";
import type { ToolPolicySettings } from "./settings.ts";

interface Input {
  readonly settings: ToolPolicySettings;
  readonly body: Uint8Array;
  readonly contentType: string | null;
}

export function run({ settings, body, contentType }: Input): RequestVerdict {
  return applyToRequest(body, contentType, new Policy(settings));
}
