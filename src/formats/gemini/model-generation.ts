// What depends on the generation of a Gemini model. The model table of providers changes monthly, so the name decides.

/** Returns the generation in a model's name, such as 2.5; the newest for names without one, such as gemini-flash-latest. */
export function generationOf(model: string | undefined): number {
  const match = /gemini-(\d+(?:\.\d+)?)/.exec(model ?? "");
  return match?.[1] === undefined ? Infinity : Number(match[1]);
}

/**
 * Whether the model belongs to Gemini 3 or newer. These have thinking levels instead of budgets, require thought signatures,
 * and accept media in function responses and a response schema beside tools.
 */
export function isGemini3(model: string | undefined): boolean {
  return generationOf(model) >= 3;
}
