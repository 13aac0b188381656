// Inspects the texts of a large message of an MCP server in a worker thread.
import { compileResultInspection, type ResultScore } from "./inspect-result.ts";
import { unpackTexts, type PackedTexts } from "./packed-texts.ts";
import type { PromptGuardSettings } from "./settings.ts";

interface Input {
  readonly settings: PromptGuardSettings;
  readonly texts: PackedTexts;
  readonly before: string;
}

export function run({ settings, texts, before }: Input): ResultScore {
  return compileResultInspection(settings)(unpackTexts(texts), before);
}
