// Inspects a large body in a worker thread.
import { compileInspection, type Inspection } from "./inspect-body.ts";
import type { PromptGuardSettings } from "./settings.ts";

interface Input {
  readonly settings: PromptGuardSettings;
  readonly body: Uint8Array;
  readonly contentType: string | null;
}

export function run({ settings, body, contentType }: Input): Inspection {
  return compileInspection(settings)(body, contentType);
}
