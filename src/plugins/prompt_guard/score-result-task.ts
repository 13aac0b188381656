// Inspects a large text of an MCP server in a worker thread.
import { compileResultInspection, type ResultScore, type ResultText } from "./inspect-result.ts";
import type { PromptGuardSettings } from "./settings.ts";

interface Input {
  readonly settings: PromptGuardSettings;
  readonly given: ResultText;
}

export function run({ settings, given }: Input): ResultScore {
  return compileResultInspection(settings)(given);
}
